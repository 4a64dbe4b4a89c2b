"""PDF files as small as they can be, with text that a reader finds."""

from collections.abc import Sequence

_ENCRYPTED = b"/Encrypt<</Filter/Standard/V 1/R 2/P -4/O<%b>/U<%b>>>/ID[<00><00>]" % (b"41" * 32, b"42" * 32)


def make_pdf(pages: Sequence[Sequence[str]], *, encrypted: bool = False) -> bytes:
    """Write a PDF, each page with its lines of Latin-1 text."""
    objects = [b"<</Type/Catalog/Pages 2 0 R>>", b"", b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"]
    kids = []
    for lines in pages:
        shown = b" ".join(b"(%b) Tj T*" % _escaped(line) for line in lines)
        content = b"BT /F1 12 Tf 14 TL 72 720 Td %b ET" % shown
        objects.append(b"<</Length %d>>stream\n%b\nendstream" % (len(content), content))
        objects.append(
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Resources<</Font<</F1 3 0 R>>>>/Contents %d 0 R>>"
            % len(objects)
        )
        kids.append(b"%d 0 R" % len(objects))
    objects[1] = b"<</Type/Pages/Count %d/Kids[%b]>>" % (len(kids), b" ".join(kids))
    written, offsets = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        offsets.append(len(written))
        written += b"%d 0 obj\n%b\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    size = len(objects) + 1
    trailer = b"<</Size %d/Root 1 0 R%b>>" % (size, _ENCRYPTED if encrypted else b"")
    return written + b"xref\n0 %d\n0000000000 65535 f \n%btrailer%b\nstartxref\n%d\n%%%%EOF" % (
        size,
        table,
        trailer,
        len(written),
    )


def _escaped(line: str) -> bytes:
    return line.encode("latin-1").replace(b"\\", b"\\\\").replace(b"(", b"\\(").replace(b")", b"\\)")
