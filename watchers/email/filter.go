package email

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"hob/platform/pim"
	"hob/platform/text/textnorm"
	"hob/watchers"
)

const inbox = "INBOX"

// Limits of a configuration.
const (
	maxValues = 50
	maxValue  = 200 // characters
)

// filter selects messages. An empty field matches all messages.
type filter struct {
	Account string `json:"account,omitempty"` // [accounts.NAME]; required if there are several
	Folder  string `json:"folder,omitempty"`  // default INBOX; the name of a folder, or its role such as "archive"
	From    list   `json:"from,omitempty"`    // names, addresses or domains; one must match the sender
	To      list   `json:"to,omitempty"`      // names, addresses or domains; one must match a recipient
	Subject list   `json:"subject,omitempty"` // one of these must occur in the subject
	Words   list   `json:"words,omitempty"`   // all of these must occur in the subject or the text
}

// list is a list of strings. In JSON it may also be a single string.
type list []string

// UnmarshalJSON implements json.Unmarshaler.
func (l *list) UnmarshalJSON(b []byte) error {
	var one string
	if json.Unmarshal(b, &one) == nil {
		*l = list{one}
		return nil
	}
	var many []string
	if err := json.Unmarshal(b, &many); err != nil {
		return errors.New("from, to, subject and words must be a string or a list of strings")
	}
	*l = many
	return nil
}

func parseFilter(raw json.RawMessage) (filter, error) {
	var f filter
	if err := watchers.Decode(raw, &f); err != nil {
		return f, fmt.Errorf("email: %w", err)
	}
	f.Account = strings.TrimSpace(f.Account)
	if f.Folder = strings.TrimSpace(f.Folder); f.Folder == "" {
		f.Folder = inbox
	}
	for name, l := range map[string]*list{"from": &f.From, "to": &f.To, "subject": &f.Subject, "words": &f.Words} {
		var out list
		for _, v := range *l {
			if v = pim.SanitizeLine(v, maxValue+1); v != "" {
				out = append(out, v)
			}
			if len([]rune(v)) > maxValue || len(out) > maxValues {
				return f, fmt.Errorf("email: %q is too long: at most %d entries of %d characters", name, maxValues, maxValue)
			}
		}
		if len(*l) > 0 && len(out) == 0 {
			return f, fmt.Errorf("email: %q is empty; omit it to match every email", name)
		}
		*l = out
	}
	if pim.SanitizeLine(f.Folder, maxValue) != f.Folder {
		return f, fmt.Errorf("email: %q must be a single line of at most %d characters", "folder", maxValue)
	}
	return f, nil
}

// matchesHeader reports whether the header fields of a message match.
func (f filter) matchesHeader(m pim.Message) bool {
	return (len(f.From) == 0 || matchesAnyone(m.From, f.From)) &&
		(len(f.To) == 0 || matchesAnyone(m.To, f.To)) &&
		(len(f.Subject) == 0 || slices.ContainsFunc(f.Subject, func(s string) bool { return containsFolded(m.Subject, s) }))
}

// withAliases adds the known aliases of named people. For example, "my sister" becomes Ana if the
// user once defined her address.
func (f filter) withAliases(called func(name string) []string) filter {
	for _, l := range []*list{&f.From, &f.To} {
		var more list
		for _, name := range *l {
			if !strings.ContainsAny(name, " \t") && strings.ContainsAny(name, "@.") {
				continue // do not add aliases for an address or domain, because anyone may send under the person's name
			}
			more = append(more, called(name)...)
		}
		*l = slices.Concat(*l, more)
	}
	return f
}

// headerMismatch describes the header field that does not match.
func (f filter) headerMismatch(m pim.Message) string {
	switch {
	case len(f.From) > 0 && !matchesAnyone(m.From, f.From):
		return "the sender is not " + strings.Join(f.From, ", ")
	case len(f.To) > 0 && !matchesAnyone(m.To, f.To):
		return "the recipient is not " + strings.Join(f.To, ", ")
	}
	return "the subject does not contain " + strings.Join(f.Subject, ", ")
}

// matchesText reports whether the message contains all words.
func (f filter) matchesText(m pim.Message) bool {
	all := m.Subject + "\n" + m.Text
	for _, w := range f.Words {
		if !containsFolded(all, w) {
			return false
		}
	}
	return true
}

// containsFolded reports whether text contains part, ignoring differences in case, accents and
// spaces.
func containsFolded(text, part string) bool {
	return strings.Contains(foldSpaces(text), foldSpaces(part))
}

func foldSpaces(s string) string { return strings.Join(strings.Fields(textnorm.Fold(s)), " ") }

func matchesAnyone(people []pim.Person, who []string) bool {
	return slices.ContainsFunc(people, func(p pim.Person) bool {
		return slices.ContainsFunc(who, func(w string) bool { return p.Matches(w) })
	})
}
