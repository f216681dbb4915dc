"""The page of a plan as a parser sees it."""

from html.parser import HTMLParser

VOID = {"meta", "link", "br", "img", "input", "rect", "path", "line"}


class Page(HTMLParser):
    """Elements with their attributes, and every text with the element that it stands in."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.elements, self.texts, self._open = [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self._open.pop() == tag

    def handle_data(self, data):
        self.texts.append((self._open[-1] if self._open else "", data))

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]

    def said(self):
        return "".join(text for tag, text in self.texts if tag not in ("script", "style"))
