package memory

import (
	"fmt"
	"strings"
	"time"

	"hob/knowledge"
	"hob/platform/provenance"
	"hob/platform/text/dateparse"
	"hob/platform/text/textnorm"
	"hob/tools"
)

// hitData is a matching row in Data.
type hitData struct {
	ID string `json:"id"`
	knowledge.Hit
}

func rowsOf(hits []knowledge.Hit) []hitData {
	out := make([]hitData, 0, len(hits))
	for _, h := range hits {
		h.Parts = nil // only the command hob memory why shows the parts of a score
		out = append(out, hitData{h.Ref, h})
	}
	return out
}

// originsOf returns the origins of untrusted text in hits.
func originsOf(lists ...[]knowledge.Hit) []provenance.Origin {
	var all [][]provenance.Origin
	for _, list := range lists {
		for _, h := range list {
			all = append(all, h.Origins)
		}
	}
	return provenance.Join(all...)
}

// hitLine describes one row: its text, its author and time, and the text that it replaced.
func hitLine(h knowledge.Hit, query string, now time.Time) string {
	text := h.Title
	if h.Title == "" {
		text = excerptAround(h.Text, query)
	} else if body := strings.TrimPrefix(h.Text, h.Title); strings.TrimSpace(body) != "" {
		text += ": " + excerptAround(body, query)
	}
	kind, day := h.Kind, dateparse.FormatDay(h.At, now)
	switch h.Kind {
	case knowledge.KindRetired:
		kind = knowledge.KindFact
	case knowledge.KindTurn:
		kind, day = "said by "+textnorm.Ellipsize(h.Speaker, 60), day+", message "+strings.TrimPrefix(h.Ref, "m")
	case knowledge.KindChunk:
		kind = "document"
	}
	if !h.Until.IsZero() {
		day += ", valid until " + dateparse.FormatDay(h.Until, now)
	}
	if h.Provenance.Tainted() {
		day += ", untrusted source"
	}
	return fmt.Sprintf("- %s: %s (%s)", kind, text, day)
}

// withheldText states how many rows were omitted because they look like credentials, and how the
// user can get these rows.
func withheldText(n int, c tools.Call) string {
	if n == 0 {
		return ""
	}
	what := fmt.Sprintf("%d results that look like credentials were left out; ", n)
	if n == 1 {
		what = "1 result that looks like a credential was left out; "
	}
	if len(c.OwnerWords) == 0 {
		return "\n" + what + "only the user can ask for it by name, in a chat with Hob alone that contains no untrusted text."
	}
	return "\n" + what + "ask for it by name (for example: what is the wifi password?)."
}

// orWithheld returns the text of a result: the matches and a note about withheld rows. If only
// credentials matched, it does not claim that there were no matches.
func orWithheld(found int, text string, withheld int, c tools.Call) string {
	if found == 0 && withheld > 0 {
		return strings.TrimSpace(withheldText(withheld, c))
	}
	return text + withheldText(withheld, c)
}

// historyText describes values that are no longer current.
func historyText(hits []knowledge.Hit, now time.Time) string {
	if len(hits) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\nNo longer so:")
	for _, h := range hits {
		b.WriteString("\n" + hitLine(h, "", now))
	}
	return b.String()
}
