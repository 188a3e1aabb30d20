package markup

import "strings"

// slack is Slack's mrkdwn.
type slack struct{}

func (slack) escapeText(s string) string { return breakCodeFences(escapeSlack(s)) }

func escapeSlack(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
}

// breakCodeFences breaks what would begin or end a block of code.
func breakCodeFences(s string) string { return strings.ReplaceAll(s, "``", "`"+noWidth+"`") }

func (slack) strongMarks() (string, string)   { return "*", "*" }
func (slack) emphasisMarks() (string, string) { return "_", "_" }
func (slack) strikeMarks() (string, string)   { return "~", "~" }
func (slack) bulletMark() string              { return "• " }
func (slack) thematicBreak() string           { return "———" }
func (slack) checkboxMark(done bool) string   { return checkboxSymbol(done) }
func (slack) formatParagraph(s string) string { return s }

// formatCode cannot contain a backtick in mrkdwn.
func (slack) formatCode(s string) string {
	if strings.Contains(s, "`") || strings.TrimSpace(s) == "" {
		return breakCodeFences(escapeSlack(s))
	}
	return "`" + escapeSlack(s) + "`"
}

func (slack) formatCodeBlock(_, s string) string {
	if s == "" {
		return ""
	}
	return "```\n" + breakCodeFences(escapeSlack(s)) + "\n```"
}

func (slack) formatQuote(s string, _ bool) string {
	return prefixLines(s, "> ")
}

func (slack) formatLink(label, address string) string {
	address = escapeSlack(address)
	if label == "" {
		return "<" + address + ">"
	}
	return "<" + address + "|" + label + ">"
}

func (slack) formatHeading(s string, _ int) string { return "*" + s + "*" }
