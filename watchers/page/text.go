package page

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"regexp"
	"strings"
	"sync"

	"github.com/andybalholm/cascadia"
	"golang.org/x/net/html"
	"golang.org/x/net/html/charset"

	"hob/platform/net/safehttp"
	"hob/platform/text/readability"
	"hob/watchers"
)

// readText returns the text to compare: the lines of the selected part of the page, without noise.
// If the part is missing, it returns an error instead of an empty text, because the page may have
// failed to load or may have been redesigned.
func (p *page) readText(ctx context.Context, resp *safehttp.Response) (text, title string, err error) {
	body, err := decodeBody(resp)
	if err != nil {
		return "", "", err
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch {
	case kind == "", strings.Contains(kind, "html"):
		text, title, err = p.extractPart(ctx, body)
	case strings.HasPrefix(kind, "text/"), strings.Contains(kind, "json"), strings.Contains(kind, "xml"):
		if text = readability.Tidy(body); p.Select != "" {
			err = fmt.Errorf("%s answered with %s, but CSS selectors need HTML", p.Group(), kind)
		}
	default:
		err = fmt.Errorf("%s answered with %s, which is not text", p.Group(), readability.CutRunes(kind, 60))
	}
	if err == nil {
		text, err = p.cutBetween(text)
	}
	if err != nil {
		return "", "", err
	}
	if text, err = p.removeNoise(text); err != nil {
		return "", "", err
	}
	return text, readability.CutRunes(title, 150), nil
}

func decodeBody(resp *safehttp.Response) (string, error) {
	r, err := charset.NewReader(bytes.NewReader(resp.Body), resp.Header.Get("Content-Type"))
	if errors.Is(err, io.EOF) {
		return "", fmt.Errorf("%s answered with an empty page", resp.URL.Host)
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", resp.URL.Host, err)
	}
	b, err := io.ReadAll(io.LimitReader(r, maxDecoded))
	if err != nil {
		return "", fmt.Errorf("%s: %w", resp.URL.Host, err)
	}
	return strings.ToValidUTF8(string(b), "\uFFFD"), nil
}

// extractPart returns the readable text of the page, or of the elements that the selector finds.
func (p *page) extractPart(ctx context.Context, body string) (text, title string, err error) {
	whole, err := readability.HTML(body, nil)
	if err != nil || p.Select == "" {
		if err != nil {
			return "", "", fmt.Errorf("%s: %w", p.Group(), err)
		}
		return whole.Text, whole.Title, nil
	}
	doc, err := html.Parse(strings.NewReader(body))
	if err != nil {
		return "", "", fmt.Errorf("%s: %w", p.Group(), err)
	}
	want, err := cascadia.ParseGroup(p.Select)
	if err != nil {
		return "", "", fmt.Errorf("page: parse \"select\": %w", err)
	}
	found, err := (&finder{want: want}).findIn(ctx, doc, nil)
	if err != nil {
		return "", "", fmt.Errorf("%s: %w", p.Group(), err)
	}
	if len(found) == 0 {
		return "", "", fmt.Errorf("the page has no part %q; check whether the page has changed", readability.CutRunes(p.Select, 100))
	}
	var b strings.Builder
	for _, n := range found {
		if b.Len() > maxText {
			break // the text is too long, and removeNoise returns the error
		}
		var part bytes.Buffer
		if err := html.Render(&part, n); err != nil {
			return "", "", fmt.Errorf("%s: %w", p.Group(), err)
		}
		b.WriteString(strings.TrimSpace(tableFragment(n, part.String())) + "\n")
	}
	return b.String(), whole.Title, nil
}

// tableFragment returns the HTML of an element. It puts table cells and rows into a table, because
// they are valid only inside a table.
func tableFragment(n *html.Node, s string) string {
	switch n.Data {
	case "td", "th":
		s = "<table><tr>" + s + "</tr></table>"
	case "tr", "tbody", "thead", "caption":
		s = "<table>" + s + "</table>"
	}
	return readability.Words("<div>" + s + "</div>")
}

// cutBetween returns the part of text between From and To. It ignores differences in whitespace.
func (p *page) cutBetween(text string) (string, error) {
	if p.From+p.To == "" {
		return text, nil
	}
	flat := strings.Join(watchers.TextLines(text), "\n")
	if p.From != "" {
		_, end := locateText(flat, p.From)
		if end < 0 {
			return "", fmt.Errorf("the page does not contain %q; check whether the page has changed", readability.CutRunes(p.From, 100))
		}
		flat = flat[end:]
	}
	if p.To != "" {
		begin, _ := locateText(flat, p.To)
		if begin < 0 {
			return "", fmt.Errorf("the page does not contain %q after the start text; check whether the page has changed", readability.CutRunes(p.To, 100))
		}
		flat = flat[:begin]
	}
	return flat, nil
}

// locateText finds the one-line string want in text, which may have several lines. It returns the
// begin and end of the match, or -1 if there is no match. Line breaks match spaces.
func locateText(text, want string) (begin, end int) {
	i := strings.Index(strings.ReplaceAll(text, "\n", " "), want)
	if i < 0 {
		return -1, -1
	}
	return i, i + len(want)
}

// noise matches text that changes without an edit of the page: relative times ("3 minutes ago") and
// tokens.
var noise = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(?:(?:\d+|an?|a few)\s+(?:second|sec|minute|min|hour|day|week|month|year)s?\s+ago|just now|[0-9a-f]{24,}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\b`)
})

// removeNoise removes ignored lines and noise. It fails if the rest is too long to compare
// completely, because a change after the limit would be missed.
func (p *page) removeNoise(text string) (string, error) {
	var b strings.Builder
	for _, l := range watchers.TextLines(text) {
		if p.Ignore.MatchesText(l) {
			continue
		}
		l = readability.Squeeze(noise().ReplaceAllString(l, "…"))
		if b.Len()+len(l) > maxText {
			return "", fmt.Errorf(`the page has more than %d KiB of text; name a part of it with "select", or "from" and "to"`, maxText>>10)
		}
		b.WriteString(l + "\n")
	}
	return b.String(), nil
}
