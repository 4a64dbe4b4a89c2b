"""Attack the parser, the decoder and the splice with inputs that a fuzzer makes of what they do."""
