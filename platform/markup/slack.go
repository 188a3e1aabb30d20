package markup

import "strings"

// slack is Slack's mrkdwn.
type slack struct{}

func (slack) escape(s string) string { return unfence(escapeSlack(s)) }

func escapeSlack(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
}

// unfence breaks what would begin or end a block of code.
func unfence(s string) string { return strings.ReplaceAll(s, "``", "`"+noWidth+"`") }

func (slack) strong() (string, string)  { return "*", "*" }
func (slack) emph() (string, string)    { return "_", "_" }
func (slack) strike() (string, string)  { return "~", "~" }
func (slack) bullet() string            { return "• " }
func (slack) rule() string              { return "———" }
func (slack) box(done bool) string      { return box(done) }
func (slack) paragraph(s string) string { return s }

// code cannot contain a backtick in mrkdwn.
func (slack) code(s string) string {
	if strings.Contains(s, "`") || strings.TrimSpace(s) == "" {
		return unfence(escapeSlack(s))
	}
	return "`" + escapeSlack(s) + "`"
}

func (slack) pre(_, s string) string {
	if s == "" {
		return ""
	}
	return "```\n" + unfence(escapeSlack(s)) + "\n```"
}

func (slack) quote(s string, _ bool) string {
	return quoted(s, "> ")
}

func (slack) link(label, address string) string {
	address = escapeSlack(address)
	if label == "" {
		return "<" + address + ">"
	}
	return "<" + address + "|" + label + ">"
}

func (slack) heading(s string, _ int) string { return "*" + s + "*" }
