// Package icsfeed reads calendar subscriptions: iCalendar files that others publish over HTTPS, such
// as public holidays, a school or a team. It downloads a file only if it changed (RFC 9110, section
// 13), and not more often than every 15 minutes. It writes nothing.
//
// Addresses of private subscriptions contain a secret, so errors name only the subscription.
package icsfeed

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"hob/platform/net/safehttp"
	"hob/platform/pim"
	"hob/platform/pim/ics"
)

const (
	maxBody = 2 << 20 // bytes, the limit of package ics
	// minAge is the minimum interval between two requests.
	minAge = 15 * time.Minute
	// maxStale is the time for which the last copy replaces a failing subscription.
	maxStale = 7 * 24 * time.Hour
)

// Options of New.
type Options struct {
	// Network returns the client that sends the requests; required. Each request calls it.
	Network func() *safehttp.Client
	// Secret resolves an address that is a reference to a secret. It may be nil.
	Secret func(ctx context.Context, ref string) (string, error)
	// Now replaces the clock in tests.
	Now func() time.Time
}

// Feed is one subscription. Its methods may be called concurrently.
type Feed struct {
	name, address string
	free          bool // its events do not make the user busy
	opt           Options

	mu      sync.Mutex // guards the copy; a request waits for another one to the same feed
	body    []byte
	valid   safehttp.Validators
	fetched time.Time // last successful request
	next    time.Time // earliest next request
}

// Parse reads an entry of the configuration: an address, or a name and an address. Without a name,
// the host names the subscription. A reference to a secret needs a name. If the name ends with
// "(free)", no event of the subscription makes the user busy.
func Parse(entry string) (name, address string, err error) {
	words := strings.Fields(entry)
	if len(words) == 0 {
		return "", "", errors.New("the calendar subscription is empty")
	}
	address = words[len(words)-1]
	name = strings.Join(words[:len(words)-1], " ")
	if isReference(address) {
		if name == "" {
			return "", "", errors.New(`a calendar subscription whose address is a reference needs a name: "Team keychain:team"`)
		}
		return name, address, nil
	}
	u, err := parseAddress(address)
	if err != nil {
		return "", "", err
	}
	if name == "" {
		name = u.Hostname()
	}
	return name, address, nil
}

func isReference(s string) bool {
	kind, _, ok := strings.Cut(s, ":")
	return ok && (kind == "env" || kind == "file" || kind == "keychain")
}

// parseAddress checks an address. webcal is another name for https.
func parseAddress(s string) (*url.URL, error) {
	for _, scheme := range []string{"webcal://", "webcals://"} {
		if rest, ok := strings.CutPrefix(s, scheme); ok {
			s = "https://" + rest
		}
	}
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.User != nil || u.Scheme != "https" && (u.Scheme != "http" || !pim.ThisMachine(u.Hostname())) {
		return nil, errors.New(`the address of a calendar subscription must begin with https:// or webcal://`)
	}
	return u, nil
}

// New returns the subscription of an entry of the configuration. It sends no request.
func New(entry string, o Options) (*Feed, error) {
	name, address, err := Parse(entry)
	if err != nil {
		return nil, err
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	name, free := strings.CutSuffix(name, " (free)")
	return &Feed{name: name, address: address, free: free, opt: o}, nil
}

// OpenAll returns the subscriptions of the configuration. It skips an entry that Parse refuses.
func OpenAll(entries []string, o Options, log *slog.Logger) (out []pim.EventReader) {
	for _, entry := range entries {
		feed, err := New(entry, o)
		if err != nil {
			log.Warn("calendar subscription skipped", "error", err)
			continue
		}
		out = append(out, feed)
	}
	return out
}

// Name implements pim.Driver.
func (f *Feed) Name() string { return f.name }

// FindEvents implements pim.EventReader. If the subscription cannot be read, it returns the events
// of the last copy of the last week, with an error.
func (f *Feed) FindEvents(ctx context.Context, s pim.TimeRange) ([]pim.Event, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	failed := f.fetchCopy(ctx)
	if f.body == nil || f.opt.Now().Sub(f.fetched) > maxStale {
		return nil, f.wrapError(failed)
	}
	if failed != nil {
		failed = fmt.Errorf("%w; showing the copy of %s", failed, f.fetched.In(s.Zone).Format("Mon 2 Jan 15:04"))
	}
	events, err := ics.Events(f.body, s)
	for i := range events {
		e := &events[i]
		e.Calendar, e.Open = f.name, e.Open || e.AllDay || f.free // holidays and birthdays do not make the user busy
	}
	return events, f.wrapError(errors.Join(failed, err))
}

func (f *Feed) wrapError(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("calendar subscription %s: %w", f.name, err)
}

// fetchCopy downloads the file if the copy is old.
func (f *Feed) fetchCopy(ctx context.Context) error {
	now := f.opt.Now()
	if f.body != nil && now.Before(f.next) {
		return nil
	}
	address := f.address
	if isReference(address) {
		if f.opt.Secret == nil {
			return errors.New("its address cannot be read")
		}
		var err error
		if address, err = f.opt.Secret(ctx, address); err != nil {
			return err
		}
	}
	u, err := parseAddress(address)
	if err != nil {
		return err
	}
	client, err := f.opt.Network().Named(u.String())
	if err != nil {
		return errors.New("its address is not allowed")
	}
	r, err := client.Fetch(ctx, safehttp.Request{URL: u.String(), MaxBody: maxBody, If: f.valid, Header: http.Header{"Accept": {"text/calendar"}}})
	if err != nil {
		if e, is := errors.AsType[*safehttp.Error](err); is {
			return errors.New(e.Message) // without the address
		}
		return err
	}
	switch {
	case r.NotModified() && f.body != nil:
	case r.Status != http.StatusOK:
		return fmt.Errorf("the server answered with HTTP status %d", r.Status)
	case !strings.Contains(string(r.Body[:min(len(r.Body), 1000)]), "BEGIN:VCALENDAR"):
		return errors.New("the server did not return a calendar")
	case !strings.Contains(string(r.Body), "END:VCALENDAR"):
		return errors.New("the server returned an incomplete calendar")
	default:
		f.body, f.valid = r.Body, r.Validators()
	}
	f.fetched, f.next = now, now.Add(minAge)
	return nil
}
