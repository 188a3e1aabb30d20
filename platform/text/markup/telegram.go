package markup

import "strings"

// telegram is the HTML of Telegram's Bot API.
type telegram struct{}

func (telegram) escapeText(s string) string { return escapeHTML(breakAtMentions(s)) }

func escapeHTML(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;").Replace(s)
}

// breakAtMentions prevents Telegram from turning an @name into a mention.
func breakAtMentions(s string) string {
	if !strings.Contains(s, "@") {
		return s
	}
	var b strings.Builder
	for i := range len(s) {
		b.WriteByte(s[i])
		if s[i] == '@' && (i == 0 || !wordByte(s[i-1])) && (i+1 == len(s) || wordByte(s[i+1])) {
			b.WriteString(noWidth)
		}
	}
	return b.String()
}

func wordByte(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

func (telegram) strongMarks() (string, string)   { return "<b>", "</b>" }
func (telegram) emphasisMarks() (string, string) { return "<i>", "</i>" }
func (telegram) strikeMarks() (string, string)   { return "<s>", "</s>" }
func (telegram) bulletMark() string              { return "• " }
func (telegram) thematicBreak() string           { return "———" }
func (telegram) formatParagraph(s string) string {
	return s
}

func (telegram) checkboxMark(done bool) string { return checkboxSymbol(done) }

func checkboxSymbol(done bool) string {
	if done {
		return "☑"
	}
	return "☐"
}

func (telegram) formatCode(s string) string {
	if s == "" {
		return ""
	}
	return "<code>" + escapeHTML(s) + "</code>"
}

func (telegram) formatCodeBlock(lang, s string) string {
	if s == "" {
		return ""
	}
	if lang == "" {
		return "<pre>" + escapeHTML(s) + "</pre>"
	}
	return `<pre><code class="language-` + escapeHTML(lang) + `">` + escapeHTML(s) + "</code></pre>"
}

// formatQuote formats a quote. It does not nest quotes, because Telegram does not support this.
func (telegram) formatQuote(s string, nested bool) string {
	if nested {
		return prefixLines(s, "&gt; ")
	}
	return "<blockquote>" + s + "</blockquote>"
}

func (telegram) formatLink(label, address string) string {
	if label == "" {
		return escapeHTML(address)
	}
	return `<a href="` + escapeHTML(address) + `">` + label + "</a>"
}

func (telegram) formatHeading(s string, _ int) string { return "<b>" + s + "</b>" }
