package learn

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"hob/autonomy/bus"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/store/erase"
	"hob/platform/text/textnorm"
)

// Eraser returns the eraser for lessons and the owner's profile.
func (l *Learner) Eraser() erase.Eraser {
	return erase.Owned{
		List: []erase.Table{
			{Name: "lessons", Key: []string{"id"}, Names: []string{"text", "cue", "key", "failed"}, Event: "event", Session: "session"},
			{Name: "user_counts", Key: []string{"what", "name"}, Names: []string{"name"}},
			{Name: "user_preferences", Key: []string{"id"}, Names: []string{"text", "cue", "key"}, Event: "event", Session: "session"},
		},
		Besides: []string{"user_hours"},
		Quotes:  l.quotedTexts,
		Forgot: func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.version++
			l.lessons, l.wishes, l.loaded = nil, nil, false
		},
	}
}

// quotedTexts returns the lessons and preferences that come from the erased messages, because the
// contexts of other conversations contain them. A lesson may have been reworded since by a message
// that is not erased. So the sentences of the erased messages count too, except those that a
// remaining lesson or preference repeats.
func (l *Learner) quotedTexts(q store.Querier, e *erase.Erasure) ([]string, error) {
	lessons, err := lessonsOf(q, "")
	if err != nil {
		return nil, err
	}
	preferences, err := preferencesOf(q, "")
	if err != nil {
		return nil, err
	}
	said, quotes, err := l.erasedSentences(q, e)
	if err != nil {
		return nil, err
	}
	var out, kept []string
	keep := func(text string, whole bool) {
		if whole {
			out = append(out, text)
		} else {
			kept = append(kept, text)
		}
	}
	for _, x := range lessons {
		keep(x.Text, e.Whole(x.Event, x.Session, "") || slices.ContainsFunc(quotes[x.Session], func(quote string) bool { return strings.HasPrefix(x.Text, quote) }))
	}
	for _, p := range preferences {
		keep(p.Text, e.Whole(p.Event, p.Session, ""))
	}
	for _, s := range said {
		if !slices.ContainsFunc(kept, func(k string) bool { return strings.Contains(textnorm.Fold(k), textnorm.Fold(s)) }) {
			out = append(out, s)
		}
	}
	for i := range out {
		out[i] = strings.TrimSuffix(out[i], "…")
	}
	return out, nil
}

// erasedSentences returns the sentences of the erased messages from which Hob learns, and by
// conversation the beginnings of the lessons that quote one of these messages.
func (l *Learner) erasedSentences(q store.Querier, e *erase.Erasure) (said []string, quotes map[string][]string, err error) {
	quotes = map[string][]string{}
	for _, id := range e.Events {
		var text, session string
		err := q.QueryRow(`SELECT text, session FROM inbox WHERE id = ? AND kind = ? AND provenance = ?`, id, bus.Message, provenance.Owner).Scan(&text, &session)
		if errors.Is(err, sql.ErrNoRows) || text == "" {
			continue
		}
		if err != nil {
			return nil, nil, fmt.Errorf("learn: read an erased message: %w", err)
		}
		quotes[session] = append(quotes[session], quoteMessage(text))
		for _, s := range ownSentences(text) {
			if l.corrections.matchSentence(s) != "" || l.preferences.matchSentence(s) != "" {
				said = append(said, textnorm.Ellipsize(s, maxLesson))
			}
		}
	}
	return said, quotes, nil
}
