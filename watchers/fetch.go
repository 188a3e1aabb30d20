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

	"hob/platform/net/safehttp"
	"hob/platform/text/textnorm"
)

// Fetch requests a source over HTTP for a Polled. It returns a successful or a "not modified"
// response. All other outcomes are errors for the poller: ErrOffline without a network, Later with
// a retry time, and ErrPermanent for an address that is permanently gone or not allowed.
func Fetch(ctx context.Context, c *safehttp.Client, r safehttp.Request) (*safehttp.Response, error) {
	if c == nil {
		return nil, fmt.Errorf("%w: network access is not configured", ErrPermanent)
	}
	resp, err := c.Fetch(ctx, r)
	if err != nil {
		return nil, classifyUnreachable(c, r.URL, err)
	}
	return resp, StatusError(resp)
}

// classifyUnreachable classifies the error of an address that cannot be requested. A refusal is
// permanent only if the address itself is refused. The target of a name or a redirect depends on
// the current network, such as the network of a hotel.
func classifyUnreachable(c *safehttp.Client, address string, err error) error {
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

// StatusError returns the error for an HTTP status, or nil for a success and for "not
// modified".
func StatusError(resp *safehttp.Response) error {
	host := resp.URL.Host
	switch s := resp.Status; {
	case s >= 200 && s < 300, s == http.StatusNotModified:
		return nil
	case s == http.StatusGone:
		return fmt.Errorf("%w: %s reports that this address is permanently gone (410)", ErrPermanent, host)
	case s == http.StatusTooManyRequests, s == http.StatusServiceUnavailable:
		err := fmt.Errorf("%s is overloaded (HTTP status %d); Hob tries again later", host, s)
		if until, ok := RetryAfter(resp.Header, time.Now()); ok {
			return Later(until, err)
		}
		return err
	case s == http.StatusUnauthorized, s == http.StatusForbidden:
		return fmt.Errorf("%s denied access (%d); does the address need a login?", host, s)
	case s == http.StatusNotFound:
		return fmt.Errorf("%s has no page at this address (404)", host)
	default:
		return fmt.Errorf("%s answered with status %d", host, s)
	}
}

// RetryAfter parses the Retry-After header (RFC 9110, section 10.2.3): seconds or a date.
func RetryAfter(h http.Header, now time.Time) (time.Time, bool) {
	text := strings.TrimSpace(h.Get("Retry-After"))
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && n >= 0 {
		return now.Add(time.Duration(min(n, int64(longestWish/time.Second))) * time.Second), true
	}
	at, err := http.ParseTime(text)
	return at, err == nil && at.After(now)
}

// NetworkTargets lists the hosts that a watcher with a configuration would contact.
type NetworkTargets struct {
	URLs    []string // addresses in the form in which they would be requested
	Secrets []string // references to the secrets that are sent to these URLs
	Servers []string // names of MCP servers, which get values of the configuration
	Query   string   // words that the configured search service receives
}

// HostLister is a Driver whose watchers contact other machines. The guard uses it when a call
// creates a watcher.
type HostLister interface {
	// Reach reads a configuration. It does no I/O.
	Reach(config json.RawMessage) (NetworkTargets, error)
}

// Reach lists the hosts and secrets that a watcher of the kind with this configuration would use.
// The list is empty for kinds that use only this machine.
func (m *Manager) Reach(kind string, config json.RawMessage) (NetworkTargets, error) {
	r, ok := m.drivers[kind].(HostLister)
	if !ok {
		return NetworkTargets{}, nil
	}
	s := Spec{Config: config}
	if err := s.ExtractPace(); err != nil {
		return NetworkTargets{}, err
	}
	reach, err := r.Reach(s.Config)
	if err != nil {
		return NetworkTargets{}, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	for i, u := range reach.URLs {
		at, err := ParseAddress(m.opt.Network, u)
		if err != nil {
			return NetworkTargets{}, fmt.Errorf("%w: %w", ErrInvalid, err)
		}
		reach.URLs[i] = at.String()
	}
	return reach, nil
}

// ParseAddress parses and checks the address of a watcher. The address must be public or allowed by
// the user.
func ParseAddress(c *safehttp.Client, address string) (*url.URL, error) {
	if c == nil {
		return safehttp.Canonical(address)
	}
	return c.Check(address)
}

// Words is a list of words or phrases. In a configuration it may also be a single string.
type Words []string

// Limits of Words.
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
		return errors.New("words must be a list of strings")
	}
	*w = nil
	for _, s := range list {
		if s = strings.TrimSpace(s); s == "" {
			continue
		}
		if len(s) > maxWordLen || len(*w) == maxWords {
			return fmt.Errorf("at most %d words of at most %d bytes each are allowed", maxWords, maxWordLen)
		}
		*w = append(*w, s)
	}
	return nil
}

// FilterReason explains why an item did not match: it contains none of the requested words, or an
// excluded word.
func FilterReason(words, except Words) string {
	switch {
	case len(except) == 0:
		return "it contains none of the requested words: " + words.List()
	case len(words) == 0:
		return "it contains an excluded word: " + except.List()
	}
	return "it contains none of the requested words (" + words.List() + "), or it contains an excluded word (" + except.List() + ")"
}

// MatchesText reports whether text contains one of the words, ignoring case and accents. It
// compares complete words or sequences of words. In scripts without spaces it compares substrings.
func (w Words) MatchesText(text string) bool {
	if len(w) == 0 {
		return false
	}
	folded := " " + strings.Join(textnorm.FoldedWords(text), " ") + " "
	for _, s := range w {
		want := strings.Join(textnorm.FoldedWords(s), " ")
		switch {
		case want == "":
			if strings.Contains(text, s) {
				return true
			}
		case strings.Contains(folded, " "+want+" "):
			return true
		case strings.ContainsFunc(want, isUnspaced) && strings.Contains(folded, want):
			return true
		}
	}
	return false
}

// isUnspaced reports whether r is a letter of a script without spaces between words.
func isUnspaced(r rune) bool {
	return r >= 0x0E00 && r <= 0x0EFF || r >= 0x1000 && r <= 0x109F || r >= 0x1780 && r <= 0x17FF || r >= 0x2E80 && r <= 0xD7FF && !(r >= 0xAC00) || r >= 0xF900 && r <= 0xFAFF || r >= 0x20000 && r <= 0x3FFFF
}

// List formats the words for the user: `"a", "b" or "c"`.
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
		b.WriteString(`"` + textnorm.Ellipsize(strings.Join(strings.Fields(s), " "), 60) + `"`)
	}
	return b.String()
}
