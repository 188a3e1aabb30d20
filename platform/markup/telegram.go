package markup

import "strings"

// telegram is the HTML of Telegram's Bot API.
type telegram struct{}

func (telegram) escape(s string) string { return escapeHTML(unmention(s)) }

func escapeHTML(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;").Replace(s)
}

// unmention prevents Telegram from turning an @name into a mention.
func unmention(s string) string {
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

func (telegram) strong() (string, string) { return "<b>", "</b>" }
func (telegram) emph() (string, string)   { return "<i>", "</i>" }
func (telegram) strike() (string, string) { return "<s>", "</s>" }
func (telegram) bullet() string           { return "• " }
func (telegram) rule() string             { return "———" }
func (telegram) paragraph(s string) string {
	return s
}

func (telegram) box(done bool) string { return box(done) }

func box(done bool) string {
	if done {
		return "☑"
	}
	return "☐"
}

func (telegram) code(s string) string {
	if s == "" {
		return ""
	}
	return "<code>" + escapeHTML(s) + "</code>"
}

func (telegram) pre(lang, s string) string {
	if s == "" {
		return ""
	}
	if lang == "" {
		return "<pre>" + escapeHTML(s) + "</pre>"
	}
	return `<pre><code class="language-` + escapeHTML(lang) + `">` + escapeHTML(s) + "</code></pre>"
}

// quote: quotes cannot be nested there.
func (telegram) quote(s string, nested bool) string {
	if nested {
		return quoted(s, "&gt; ")
	}
	return "<blockquote>" + s + "</blockquote>"
}

func (telegram) link(label, address string) string {
	if label == "" {
		return escapeHTML(address)
	}
	return `<a href="` + escapeHTML(address) + `">` + label + "</a>"
}

func (telegram) heading(s string, _ int) string { return "<b>" + s + "</b>" }
