"""Makes the pages, which are written for GitHub, ones of a site."""

import posixpath
import re
from pathlib import Path

DOCS = Path(__file__).resolve().parents[3] / "docs"
LINK = re.compile(r"(?m)(\]\(|^\[[^\]\n]+\]: )([^)\s:#]+)((?:#[^)\s]*)?(?:\)|$))")
CODE = re.compile(r"(?ms)^ *```.*?^ *```$|`[^`\n]*`")


def on_page_markdown(text, page, config, files):
    here = posixpath.dirname(page.file.src_uri)
    base = config["repo_url"] + "/blob/main/"

    def outside(m):
        """A link to a file of the repository that is no page leads to the repository."""
        path = posixpath.normpath(posixpath.join("docs", here, m[2]))
        target = DOCS.parent / path
        if not target.exists() or (path.startswith("docs/") and not target.is_dir() and files.get_file_from_path(path[5:])):
            return m[0]  # a page, or a mistake that the build reports
        return m[1] + base + path + m[3]

    out, at = [], 0
    for code in CODE.finditer(text):
        out += [LINK.sub(outside, text[at : code.start()]), code[0]]
        at = code.end()
    text = "".join([*out, LINK.sub(outside, text[at:])])
    text = text.replace("<details>", '<details markdown="1">')
    return re.sub(r"(?m)^([^\s\-|>#`].*)\n(- )", r"\1\n\n\2", text)  # GitHub begins a list without an empty line
