package markup

// plain is text without marks.
type plain struct{}

func (plain) escapeText(s string) string         { return s }
func (plain) strongMarks() (string, string)      { return "", "" }
func (plain) emphasisMarks() (string, string)    { return "", "" }
func (plain) strikeMarks() (string, string)      { return "", "" }
func (plain) formatCode(s string) string         { return s }
func (plain) formatCodeBlock(_, s string) string { return s }
func (plain) bulletMark() string                 { return "- " }
func (plain) thematicBreak() string              { return "---" }
func (plain) formatParagraph(s string) string    { return s }
func (plain) formatHeading(s string, _ int) string {
	return s
}

func (plain) checkboxMark(done bool) string {
	if done {
		return "[x]"
	}
	return "[ ]"
}

func (plain) formatQuote(s string, _ bool) string { return prefixLines(s, "> ") }

func (plain) formatLink(label, address string) string {
	if label == "" {
		return address
	}
	return label + " (" + address + ")"
}
