package watchers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"hob/platform/phrase"
	"hob/platform/safehttp"
)

// Fetch asks a source over HTTP for a Polled. A success and "not modified" come
// back as they are; everything else is an error that says what the poller needs:
// no network (ErrOffline), a time to wait for (Later), an address that is gone
// for good or never reachable (ErrPermanent).
func Fetch(ctx context.Context, c *safehttp.Client, r safehttp.Request) (*safehttp.Response, error) {
	if c == nil {
		return nil, fmt.Errorf("%w: Hob has no way to the network here", ErrPermanent)
	}
	resp, err := c.Fetch(ctx, r)
	if err != nil {
		return nil, unreachable(c, r.URL, err)
	}
	return resp, StatusError(resp)
}

// unreachable says what it means that an address cannot be asked. That it is
// refused is for good only when it is so as written: where a name or a redirect
// leads is up to the network of the moment, such as that of a hotel.
func unreachable(c *safehttp.Client, address string, err error) error {
	e, ok := errors.AsType[*safehttp.Error](err)
	switch {
	case !ok:
		return err
	case e.Refusal():
		if _, refused := c.Check(address); refused == nil {
			return err
		}
		return fmt.Errorf("%w: %w", ErrPermanent, err)
	case e.Kind == safehttp.Resolve, e.Kind == safehttp.NotFound && !c.Online(), errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.ENETDOWN):
		return fmt.Errorf("%w: %w", ErrOffline, err)
	}
	return err
}

// StatusError is the error that an answer's status means, nil for a success and
// for "not modified".
func StatusError(resp *safehttp.Response) error {
	host := resp.URL.Host
	switch s := resp.Status; {
	case s >= 200 && s < 300, s == http.StatusNotModified:
		return nil
	case s == http.StatusGone:
		return fmt.Errorf("%w: %s says that this is gone for good (410)", ErrPermanent, host)
	case s == http.StatusTooManyRequests, s == http.StatusServiceUnavailable:
		err := fmt.Errorf("%s is busy (%d)", host, s)
		if until, ok := RetryAfter(resp.Header, time.Now()); ok {
			return Later(until, err)
		}
		return err
	case s == http.StatusUnauthorized, s == http.StatusForbidden:
		return fmt.Errorf("%s does not let me in (%d); does the address need a login?", host, s)
	case s == http.StatusNotFound:
		return fmt.Errorf("%s has nothing at this address (404)", host)
	default:
		return fmt.Errorf("%s answered with status %d", host, s)
	}
}

// RetryAfter reads the header of that name (RFC 9110, section 10.2.3): seconds,
// or a date.
func RetryAfter(h http.Header, now time.Time) (time.Time, bool) {
	text := strings.TrimSpace(h.Get("Retry-After"))
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && n >= 0 {
		return now.Add(time.Duration(min(n, int64(longestWish/time.Second))) * time.Second), true
	}
	at, err := http.ParseTime(text)
	return at, err == nil && at.After(now)
}

// Reach is what a configuration makes a watcher contact.
type Reach struct {
	URLs    []string // as they would be requested
	Secrets []string // references to secrets that are sent there
}

// Reacher is a Driver whose watchers contact something outside of this machine,
// so that the guard can judge their making.
type Reacher interface {
	// Reach reads a configuration, without any I/O.
	Reach(config json.RawMessage) (Reach, error)
}

// Reach says what a watcher of the kind would contact with a configuration; kinds
// that stay on this machine contact nothing.
func (m *Manager) Reach(kind string, config json.RawMessage) (Reach, error) {
	r, ok := m.drivers[kind].(Reacher)
	if !ok {
		return Reach{}, nil
	}
	s := Spec{Config: config}
	if err := s.Lift(); err != nil {
		return Reach{}, err
	}
	reach, err := r.Reach(s.Config)
	if err != nil {
		return Reach{}, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	for i, u := range reach.URLs {
		at, err := Address(m.opt.Network, u)
		if err != nil {
			return Reach{}, fmt.Errorf("%w: %w", ErrInvalid, err)
		}
		reach.URLs[i] = at.String()
	}
	return reach, nil
}

// Address reads an address that a watcher is to ask: it must be public, or one
// that the owner allowed.
func Address(c *safehttp.Client, address string) (*url.URL, error) {
	if c == nil {
		return safehttp.Canonical(address)
	}
	return c.Check(address)
}

// Words are words or phrases in a configuration: a list, or one text.
type Words []string

// The bounds of Words.
const (
	maxWords   = 50
	maxWordLen = 200
)

// UnmarshalJSON implements json.Unmarshaler.
func (w *Words) UnmarshalJSON(b []byte) error {
	var one string
	var list []string
	if json.Unmarshal(b, &one) == nil {
		list = []string{one}
	} else if err := json.Unmarshal(b, &list); err != nil {
		return errors.New("words must be a list of texts")
	}
	*w = nil
	for _, s := range list {
		if s = strings.TrimSpace(s); s == "" {
			continue
		}
		if len(s) > maxWordLen || len(*w) == maxWords {
			return fmt.Errorf("there may be %d words of %d bytes", maxWords, maxWordLen)
		}
		*w = append(*w, s)
	}
	return nil
}

// Unwanted says why something was not told that lacks all of the words that were
// asked for, or has one of those that were not.
func Unwanted(words, except Words) string {
	switch {
	case len(except) == 0:
		return "it has none of the words you asked for: " + words.List()
	case len(words) == 0:
		return "it has a word that you do not want: " + except.List()
	}
	return "it has none of the words you asked for (" + words.List() + "), or one that you do not want (" + except.List() + ")"
}

// In reports whether one of the words stands in a text: as a whole word or row
// of words, case and accents aside; in scripts without blanks, anywhere.
func (w Words) In(text string) bool {
	if len(w) == 0 {
		return false
	}
	folded := " " + strings.Join(phrase.Split(text), " ") + " "
	for _, s := range w {
		want := strings.Join(phrase.Split(s), " ")
		switch {
		case want == "":
			if strings.Contains(text, s) {
				return true
			}
		case strings.Contains(folded, " "+want+" "):
			return true
		case strings.ContainsFunc(want, unspaced) && strings.Contains(folded, want):
			return true
		}
	}
	return false
}

// unspaced are letters of scripts that put no blanks between words.
func unspaced(r rune) bool {
	return r >= 0x0E00 && r <= 0x0EFF || r >= 0x1000 && r <= 0x109F || r >= 0x1780 && r <= 0x17FF || r >= 0x2E80 && r <= 0xD7FF && !(r >= 0xAC00) || r >= 0xF900 && r <= 0xFAFF || r >= 0x20000 && r <= 0x3FFFF
}

// List words a few texts for people: `"a", "b" or "c"`.
func (w Words) List() string {
	var b strings.Builder
	for i, s := range w {
		switch {
		case i == 0:
		case i == len(w)-1:
			b.WriteString(" or ")
		default:
			b.WriteString(", ")
		}
		b.WriteString(`"` + phrase.Cut(strings.Join(strings.Fields(s), " "), 60) + `"`)
	}
	return b.String()
}
