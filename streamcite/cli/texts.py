"""What ``--help`` says of each command. Click fills no paragraph after a backspace."""

STREAMCITE = """\
Read the citation markers in what a language model writes.

A marker such as \\ue200cite\\ue202turn0file1\\ue202L8-L13\\ue201 names sources in the midst of an answer. These
commands take the markers out while the answer streams: text goes on at once, wherever it was cut, and only a marker
that is still open is held back.

\b
See it, here or in a browser:
  streamcite demo
  streamcite serve --open
Ask a question of your own files:
  streamcite ask "How often do we meet?" handbook.pdf notes/
Get the clean text of an answer, or all that is in it:
  streamcite clean answer.txt
  streamcite parse answer.txt
Show sources to a model, and tell it how to cite them:
  streamcite material sources.json --as tool
  streamcite prompt --material tool
Find what is wrong with its citations:
  streamcite check answer.txt --sources sources.json
Show it with its citations, as text, Markdown, HTML or in the terminal:
  streamcite render answer.txt --sources sources.json
Also while the answer is being written:
  some-model | streamcite clean
Stand before an API, so that its clients see no markers:
  streamcite relay --upstream https://api.openai.com/v1

Exit status: 0 done; 1 check has found something; 2 bad use, bad input or a failure, which one line on standard error
names; 130 interrupted; 141 where the reader of the output has gone.
"""

PARSE = """\
Print the events of an answer as JSON lines.

Reads FILE, or standard input. Each event is printed as soon as it is certain: "text" (cut as the input came; adjacent
ones belong together), "citation", "other" or "malformed". The last three say where they stood in the input ("raw", from
"start" to "end") and in the clean text ("position"), in code points. The output is ASCII; what is not, is escaped.

\b
Example:
  $ echo '"Yes.\\ue200cite\\ue202turn0file1\\ue201"' >deltas.jsonl
  $ streamcite parse --input jsonl deltas.jsonl
  {"type": "text", "text": "Yes."}
  {"type": "citation", "family": "cite", "references": [{"source_id": ...
"""

CLEAN = """\
Print the clean text of an answer.

Reads FILE, or standard input, and prints the text without its citation markers as it comes: as UTF-8 whatever the
locale, line ends as they are. Invalid UTF-8 is replaced by U+FFFD, and that is reported on standard error.

\b
Example:
  $ echo '"Yes.\\ue200cite\\ue202turn0file1\\ue201"' >deltas.jsonl
  $ streamcite clean --input jsonl deltas.jsonl
  Yes.
"""

DEMO = """\
Stream an answer into the terminal, with numbered citations and its sources.

Starts a server on this machine that streams a recorded answer as OpenAI's does, asks it with OpenAI's own client, and
shows the answer as it comes. Nothing leaves this machine.

With --model, and the server's key in OPENAI_API_KEY, the same code asks a real server: the one at --base-url (or in
OPENAI_BASE_URL), else OpenAI's. What the ids it cites stand for is then not known here.

\b
Examples:
  $ streamcite demo --list
  $ streamcite demo --answer technical
  $ streamcite demo --pace 0.1 | cat
  $ OPENAI_API_KEY=... streamcite demo --base-url http://localhost:8000/v1 \\
        --model my-model --question 'How long may I stay?'
"""

ASK = """\
Answer a question from your files, with a citation for each statement.

Reads each FILE: text, Markdown, HTML or PDF; a folder is walked, and a pattern in quotes is matched. They are cut into
blocks, and the model is shown those that are closest to the question (by BM25), or all if they fit. The answer comes as
the model writes it, with numbered citations; then its sources, with the passages that it cites; then what is wrong with
its citations, as the command check reports it. A file that cannot be read is skipped, as standard error says.

With the server's key in OPENAI_API_KEY the model is asked: at --base-url (or in OPENAI_BASE_URL), else OpenAI's.
Without a key, or with --offline, nothing leaves this machine: no model is asked, and the answer consists of sentences
of your files, or lines, that share words with the question.

\b
Examples:
  $ streamcite ask "How often do we meet?" handbook.pdf notes/
  $ streamcite ask "Who may come?" "docs/**/*.md" --unit lines --save answer.html
  $ OPENAI_API_KEY=any streamcite ask "Why?" notes.txt \\
        --base-url http://localhost:8000/v1 --model my-model
  $ streamcite ask "How much?" prices.html --json --strict >answer.json

With --json one document is printed at the end: "answer" and "raw" (as the model wrote it), "citations", each with
"position" and its "links" ("title", "path", "problem", and "passage" with its lines, and its text up to 8000 code
points), "findings", and what was "shown" and "skipped". Interrupted, it holds the answer so far, and "complete" is
false.

Exit status: 0 done; 1 with --strict, the answer cites what is not there; 2 bad use, bad input or a failure; 130
interrupted.
"""

PROMPT = """\
Print the part of a prompt that tells a model how to cite.

It says what OpenAI's citation guide asks for: where the ids of sources stand, the exact form of a marker, where one
goes, when to cite and when not, how to cite several sources, what is forbidden, and what to do where no source helps.
An option left out has the value that the guide recommends for the material. The output is UTF-8, with the tokens of the
format as they are.

\b
Sources are shown to the model
  tool        as messages of a tool, each with its id as in 【turn2file1】
  tool-lines  as tool results that begin with "Citation Marker: " and a marker
  blocks      as <BLOCK id="block1"> ... </BLOCK> in the context

\b
Examples:
  $ streamcite prompt --material tool --tool file_search
  $ streamcite prompt --material tool-lines --lines required >>system.md
  $ streamcite prompt --material blocks --unsupported omit --considerations
"""

MATERIAL = """\
Print sources as a model is shown them.

Reads a JSON list of sources, "-" for standard input. Each is an object with "id" and "text", and where known "title",
"url", "updated" (a date), "kind", "unit" ("lines", the default, "block" or "document"), "citable" (false for what is
only shown) and "metadata" (not shown). What Sources.to_dict() gives is read too.

\b
Shown with --as
  tool        each after its id as in 【turn0file1】: the form that the command
              prompt describes with --material tool
  tool-lines  each after "Citation Marker: " and a marker
  blocks      as <BLOCK id="block1"> ... </BLOCK>
  messages    as tool, in a JSON list of chat messages of role "tool", one a
              source; put the ids of your tool calls in place of call_1 ...

But in blocks, the unit says whether lines are numbered as [L1], or a block has a label [Block1]. What a source says is
made safe where it could pass for a citation or for another source, as standard error says, a line a source. The
output is UTF-8, that of messages ASCII.

\b
Example:
  $ echo '[{"id": "block1", "text": "Open till nine.\\nNot on Sundays."}]' >sources.json
  $ streamcite material sources.json --as blocks
  <BLOCK id="block1">
  Open till nine.
  Not on Sundays.
  </BLOCK>
"""

CHECK = """\
Check the citations of an answer.

Reads ANSWER, or standard input, and the sources that it could cite: a JSON list as the command material reads. Tells of
each marker that is malformed, names a source or lines that are not there, or stands where none should: in code, in
emphasis, before punctuation, alone in a line or all together at the end; and of ids outside a marker. Each is reported
with its line, a caret under it, and what to change.

With --json it prints a list of objects with "rule", "severity" ("error" or "warning"), "message", and where it stands:
from "start" to "end" in the answer, at "position" in its clean text, in code points. The output is ASCII.

\b
Example:
  $ echo '[{"id": "block1", "text": "Open till nine."}]' >sources.json
  $ echo 'Open till nine.' >answer.txt
  $ streamcite check answer.txt --sources sources.json
  answer.txt:1:1: warning: Cite the sources that the answer rests on: it has no
  citation. [uncited]
      Open till nine.
      ^~~~~~~~~~~~~~~

Exit status: 0 nothing found; 1 something was; 2 bad use or input.
"""

RENDER = """\
Show an answer with numbered citations and its sources.

Reads ANSWER, or standard input, and the sources that it can cite: a JSON list as the command material reads. Each piece
is printed as soon as it is certain, also while the answer is being written. A citation of an unknown source is left
out, but in HTML; the command check reports it. Links go to http, https and mailto only.

\b
Printed with --to
  plain      text that reads well aloud: (source 1), and a list of sources
  markdown   the answer's own Markdown, with links: [1](<https://...>), and a list
             of the sources without a URL
  footnotes  the same with footnotes: [^1]
  html       HTML without a page round it, safe to be put into one; a citation of an
             unknown source is [?] with data-problem="unknown-source"
  terminal   in colour, drawn while it comes; plain where output is not a terminal

\b
Example:
  $ echo '[{"id": "a1", "title": "Hours", "text": "Open till nine."}]' >s.json
  $ printf 'Till nine.\\356\\210\\200cite\\356\\210\\202a1\\356\\210\\201' >answer.txt
  $ streamcite render answer.txt --sources s.json --to plain
  Till nine. (source 1)
...
"""

RELAY = """\
Relay an OpenAI-compatible API, and clean its answers.

Clients send their requests here in place of the API: chat completions and Responses come back without markers, streamed
or not, with annotations of the sources that the request's own messages show. Everything else passes as it is. Keys come
with the requests, and are neither kept nor logged.

/healthz says that the relay runs, /metrics what it counted, for Prometheus. Told to end (SIGTERM, or Ctrl-C), it lets
open streams finish. With the header "x-streamcite-findings: 1" a client is told what was found in its answer: in a
header of the same name, or in a comment at the end of a stream.

\b
Example:
  $ streamcite relay --upstream https://api.openai.com/v1
  $ OPENAI_BASE_URL=http://127.0.0.1:8000/v1 python my_program.py

\b
A FILE for --config has these options by their names, and limits that have none:
  upstream = "https://api.openai.com/v1"
  cors = ["https://page.example"]
  max_body = 134217728   # bytes of a request, and of an answer that is not a stream
  max_head = 65536       # bytes of the headers of either
  connect_timeout = 10   # seconds for a connection to the API
  read_timeout = 600     # seconds between two reads of an answer
  body_timeout = 30      # seconds between two reads of the body of a request
  head_timeout = 20      # seconds for the headers of a request
"""

SERVE = """\
Serve a page to try it all, and print its address.

Choose a recorded answer, or ask a question of your own about FILEs, here or on the page. The answer streams with its
citations, beside it stand the sources with what is cited of them, below it what is wrong with it. A slider cuts the
stream into other pieces: nothing changes. Reload the page while an answer comes: it goes on, and nothing is lost.

Nothing leaves this machine, unless --model asks one, with the server's key in OPENAI_API_KEY: the one at --base-url (or
in OPENAI_BASE_URL), else OpenAI's.

\b
Examples:
  $ streamcite serve --open
  $ streamcite serve handbook.md notes/ --model gpt-5
"""
