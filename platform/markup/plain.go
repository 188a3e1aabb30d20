package markup

// plain is text without marks.
type plain struct{}

func (plain) escape(s string) string    { return s }
func (plain) strong() (string, string)  { return "", "" }
func (plain) emph() (string, string)    { return "", "" }
func (plain) strike() (string, string)  { return "", "" }
func (plain) code(s string) string      { return s }
func (plain) pre(_, s string) string    { return s }
func (plain) bullet() string            { return "- " }
func (plain) rule() string              { return "---" }
func (plain) paragraph(s string) string { return s }
func (plain) heading(s string, _ int) string {
	return s
}

func (plain) box(done bool) string {
	if done {
		return "[x]"
	}
	return "[ ]"
}

func (plain) quote(s string, _ bool) string { return quoted(s, "> ") }

func (plain) link(label, address string) string {
	if label == "" {
		return address
	}
	return label + " (" + address + ")"
}
