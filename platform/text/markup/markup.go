// Package markup converts Markdown to the formats of channels: Telegram HTML, Slack mrkdwn, Discord
// Markdown, plain text, and a subset of HTML for email. Channel drivers call it for each text that
// they send.
//
// For any input, the output is balanced, contains only the markup listed at each function, and
// mentions no one, because the text may quote unknown senders. Unfinished text is supported, such
// as a draft with an open code block. Text without Markdown is unchanged. The channels manager
// enforces length limits.
package markup

import (
	"strings"
	"unicode"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// Telegram returns text for the parse mode HTML of the Bot API. It uses the tags b, i, u, s, code,
// pre, blockquote and a, as described at https://core.telegram.org/bots/api#html-style. @names are
// not rendered as mentions.
func Telegram(md string) string { return renderMarkdown(md, telegram{}) }

// Slack returns mrkdwn: *b* _i_ ~s~, code and links, with &, < and > escaped so
// that no <!channel> is possible. See
// https://docs.slack.dev/messaging/formatting-message-text.
func Slack(md string) string { return renderMarkdown(md, slack{}) }

// Discord returns Discord's Markdown. Tables become code blocks, and zero-width characters break
// mentions.
func Discord(md string) string { return renderMarkdown(md, discord{}) }

// Plain returns the text without marks. A link becomes "text (url)", lists have - and numbers, and
// tables have aligned columns.
func Plain(md string) string { return renderMarkdown(md, plain{}) }

// HTML returns HTML for the body of an email. It contains no scripts, no pictures, no HTML from the
// text, and only http, https and mailto links.
func HTML(md string) string {
	src, doc, ok := parseMarkdown(md)
	if !ok {
		return "<p>" + strings.ReplaceAll(escapeHTML(strings.TrimSpace(string(src))), "\n", "<br>\n") + "</p>"
	}
	w := &writer{src: src, d: htmlDialect{}}
	h := &htmlBlocks{w: w}
	h.writeChildren(doc, false)
	return strings.TrimSuffix(w.b.String(), "\n")
}

func renderMarkdown(md string, d dialect) string {
	src, doc, ok := parseMarkdown(md)
	w := &writer{src: src, d: d}
	if !ok {
		return d.escapeText(strings.TrimSpace(string(src)))
	}
	out := strings.ReplaceAll(strings.Join(w.renderBlocks(doc, 0), "\n\n"), still, "\n")
	return strings.Trim(out, "\n")
}

// parseMarkdown parses Markdown with tables, strikethrough and task lists. It does not support
// HTML, which stays as text, or link definitions, which would otherwise disappear from the text. ok
// is false if the nesting is abnormally deep; the text should then be shown unchanged.
func parseMarkdown(md string) (src []byte, doc ast.Node, ok bool) {
	src = []byte(cleanControls(md))
	if isTooComplex(src) {
		return src, nil, false
	}
	p := parser.NewParser(
		parser.WithBlockParsers(
			util.Prioritized(parser.NewSetextHeadingParser(), 100),
			util.Prioritized(parser.NewThematicBreakParser(), 200),
			util.Prioritized(parser.NewListParser(), 300),
			util.Prioritized(parser.NewListItemParser(), 400),
			util.Prioritized(parser.NewCodeBlockParser(), 500),
			util.Prioritized(parser.NewATXHeadingParser(), 600),
			util.Prioritized(parser.NewFencedCodeBlockParser(), 700),
			util.Prioritized(parser.NewBlockquoteParser(), 800),
			util.Prioritized(parser.NewParagraphParser(), 1000),
		),
		parser.WithInlineParsers(
			util.Prioritized(boxes{}, 0),
			util.Prioritized(parser.NewCodeSpanParser(), 100),
			util.Prioritized(parser.NewLinkParser(), 200),
			util.Prioritized(parser.NewAutoLinkParser(), 300),
			util.Prioritized(parser.NewEmphasisParser(), 500),
			util.Prioritized(struckOut{}, 500),
		),
		parser.WithParagraphTransformers(util.Prioritized(tables{}, 200)),
	)
	return src, p.Parse(text.NewReader(src)), true
}

// cleanControls removes control characters except line breaks and tabs. It also removes direction
// controls, because they can make a file name or an address look like another one. Right-to-left
// text does not need them.
func cleanControls(md string) string {
	md = strings.ReplaceAll(strings.ToValidUTF8(md, "\uFFFD"), "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\r':
			return '\n'
		case r != '\n' && r != '\t' && unicode.IsControl(r), '\u202a' <= r && r <= '\u202e', '\u2066' <= r && r <= '\u2069':
			return -1
		}
		return r
	}, md)
}

// The maximum nesting and number of open marks. Parsing time is quadratic in these but linear in
// the length of the text.
const (
	maxDepth = 40
	maxOpen  = 2000
)

// isTooComplex reports whether the parser would take too long for a text.
func isTooComplex(src []byte) bool {
	depth, open := 0, 0
	marksOnly, blank := true, true // marksOnly: the line contains only block marks so far; blank: the line is empty so far
	var first byte
	mixed := false // the marks cannot be a thematic break
	for i, c := range src {
		switch c {
		case '\n':
			if blank {
				open = 0 // the paragraph has ended
			}
			depth, marksOnly, blank, first, mixed = 0, true, true, 0, false
			continue
		case ' ', '\t':
			continue
		case '>', '-', '*', '+':
			depth++
			if first == 0 {
				first = c
			}
			mixed = mixed || c != first || c == '>' || i > 0 && src[i-1] == ' '
		case '.', ')':
			depth++
			mixed = true
		default:
			marksOnly = marksOnly && '0' <= c && c <= '9'
		}
		blank = false
		if marksOnly && mixed && depth > maxDepth {
			return true
		}
		if strings.IndexByte("*_~[]`<", c) >= 0 {
			if open++; open > maxOpen {
				return true
			}
		}
	}
	return false
}

// Escape returns Markdown that displays text literally. It does not escape full stops, because they
// never change the rendering, and the renderers would keep a backslash before them.
func Escape(text string) string {
	var b strings.Builder
	for _, r := range text {
		if r < 0x80 && strings.ContainsRune("!\"#$%&'()*+,-/:;<=>?@[\\]^_`{|}~", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}
