package markup

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// discord is Discord's Markdown; see https://support.discord.com/hc/en-us/articles/210298617. It
// resembles Hob's Markdown, so plain text must be escaped; otherwise Discord would interpret it as
// markup.
type discord struct{}

func (discord) escapeText(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		if n := urlAt(s, i); n > 0 {
			b.WriteString(strings.NewReplacer("](", "]"+noWidth+"(", "`", "%60", "||", "%7C%7C").Replace(s[i : i+n]))
			i += n
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		before, _ := utf8.DecodeLastRuneInString(s[:i])
		after, _ := utf8.DecodeRuneInString(s[i+n:])
		if isSpecial(s, i, r, before, after) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
		if r == '<' && strings.ContainsRune("@#:ati", after) && tagAt(s[i+n:]) {
			b.WriteString(noWidth)
		}
		i += n
	}
	return breakMentions(b.String())
}

// isSpecial reports whether Discord would interpret the character at s[i] as markup.
func isSpecial(s string, i int, r, before, after rune) bool {
	switch r {
	case '`':
		return true
	case '*':
		return i == 0 || i+1 == len(s) || !unicode.IsSpace(before) || !unicode.IsSpace(after)
	case '_':
		return i == 0 || i+1 == len(s) || !isWordRune(before) || !isWordRune(after)
	case '~', '|':
		return before == r || after == r || i == 0 || i+1 == len(s)
	case '\\':
		return i+1 == len(s) || unicode.IsPunct(after) || unicode.IsSymbol(after)
	case ']':
		return after == '('
	}
	return false
}

func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// tagAt reports whether Discord would render the text as a tag: <#1>, <:name:1>,
// <a:name:1>, <t:1>, <id:guide> or <@1>.
func tagAt(s string) bool {
	for _, p := range []string{"@", "#", ":", "a:", "t:", "id:"} {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}

// urlAt returns the length of the address that begins at s[i], or 0 if there is none. Addresses
// must not be escaped, because a backslash would break them.
func urlAt(s string, i int) int {
	if !strings.HasPrefix(s[i:], "https://") && !strings.HasPrefix(s[i:], "http://") {
		return 0
	}
	end := strings.IndexFunc(s[i:], func(r rune) bool { return unicode.IsSpace(r) || r == '<' || r == '>' || r == '\\' })
	if end < 0 {
		end = len(s) - i
	}
	return end
}

// breakMentions inserts a zero-width character into text that would notify people.
func breakMentions(s string) string {
	return strings.NewReplacer("@everyone", "@"+noWidth+"everyone", "@here", "@"+noWidth+"here", "<@", "<"+noWidth+"@").Replace(s)
}

func (discord) strongMarks() (string, string)   { return "**", "**" }
func (discord) emphasisMarks() (string, string) { return "*", "*" }
func (discord) strikeMarks() (string, string)   { return "~~", "~~" }
func (discord) bulletMark() string              { return "- " }
func (discord) thematicBreak() string           { return "———" }
func (discord) checkboxMark(done bool) string   { return checkboxSymbol(done) }

// formatParagraph escapes the beginnings of lines, so that no line starts a heading, a list or a
// quote by accident.
func (discord) formatParagraph(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		t := strings.TrimLeft(l, " ")
		for _, p := range []string{"# ", "## ", "### ", "-# ", "> ", ">>> ", "- ", "* "} {
			if strings.HasPrefix(t, p) {
				lines[i] = l[:len(l)-len(t)] + `\` + t
			}
		}
	}
	return strings.Join(lines, "\n")
}

func (discord) formatCode(s string) string {
	s = breakMentions(s)
	switch {
	case strings.TrimSpace(s) == "":
		return s
	case strings.Contains(s, "`"):
		return "`` " + breakCodeFences(s) + " ``"
	}
	return "`" + s + "`"
}

func (discord) formatCodeBlock(lang, s string) string {
	if s == "" {
		return ""
	}
	return "```" + lang + "\n" + breakCodeFences(breakMentions(s)) + "\n```"
}

func (discord) formatQuote(s string, _ bool) string {
	return prefixLines(s, "> ")
}

func (discord) formatLink(label, address string) string {
	switch {
	case label == "":
		return breakMentions(address)
	case !isWebURL(address) || strings.Contains(label, "://"): // Discord would not show the label of such a link
		return label + " (" + breakMentions(address) + ")"
	}
	return "[" + label + "](" + breakMentions(address) + ")"
}

func (discord) formatHeading(s string, level int) string {
	if level > 3 {
		return "**" + s + "**"
	}
	return strings.Repeat("#", level) + " " + s
}

// slack is Slack's mrkdwn.
type slack struct{}

func (slack) escapeText(s string) string { return breakCodeFences(escapeSlack(s)) }

func escapeSlack(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
}

// breakCodeFences inserts a zero-width character into text that would start or end a code block.
func breakCodeFences(s string) string { return strings.ReplaceAll(s, "``", "`"+noWidth+"`") }

func (slack) strongMarks() (string, string)   { return "*", "*" }
func (slack) emphasisMarks() (string, string) { return "_", "_" }
func (slack) strikeMarks() (string, string)   { return "~", "~" }
func (slack) bulletMark() string              { return "• " }
func (slack) thematicBreak() string           { return "———" }
func (slack) checkboxMark(done bool) string   { return checkboxSymbol(done) }
func (slack) formatParagraph(s string) string { return s }

// formatCode returns code that contains a backtick without code marks, because backticks cannot be
// escaped in mrkdwn.
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
