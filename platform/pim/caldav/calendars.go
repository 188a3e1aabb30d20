package caldav

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"hob/platform/pim"
	"hob/platform/pim/ics"
	"hob/platform/text/sorting"
)

// Limits for reading an account.
const (
	maxHomes     = 5
	maxCalendars = 200
	maxMissing   = 1000 // maximum unreadable events that are listed by name
)

// Calendars discovers the user's event calendars (RFC 4791, 6.2; RFC 6764). The
// configured address may be the server, the calendar home or a single calendar.
func (c *Client) Calendars(ctx context.Context) ([]pim.Calendar, error) {
	out, err := c.collectionsSupporting(ctx, "VEVENT")
	if err == nil && len(out) == 0 {
		return nil, c.account.Errorf("no calendar found; set caldav to the address of your calendars")
	}
	return out, err
}

// collectionsSupporting returns the calendars that support a component kind.
func (c *Client) collectionsSupporting(ctx context.Context, kind string) ([]pim.Calendar, error) {
	at, p, err := c.discoverPrincipal(ctx)
	if err != nil {
		return nil, err
	}
	if p.Type.Calendar != nil {
		return []pim.Calendar{newCalendar(at, p)}, nil
	}
	homes := p.Homes.Href
	if len(homes) == 0 && len(p.Principal.Href) > 0 {
		to, err := at.Parse(p.Principal.Href[0])
		if err != nil {
			return nil, c.account.Errorf("the server returned no calendar home")
		}
		ms, where, err := c.requestXML(ctx, "PROPFIND", to, "0", askHome)
		if err != nil {
			return nil, err
		}
		for _, r := range ms.Responses {
			homes = append(homes, r.mergeProps().Homes.Href...)
		}
		at = where
	}
	var out []pim.Calendar
	for _, home := range homes[:min(len(homes), maxHomes)] {
		list, err := c.listCollections(ctx, at, home, kind)
		if err != nil {
			return nil, err
		}
		out = append(out, list...)
	}
	return out[:min(len(out), maxCalendars)], nil
}

// discoverPrincipal requests the user's principal from the configured address, and then from the
// well-known one.
func (c *Client) discoverPrincipal(ctx context.Context) (*url.URL, prop, error) {
	well := *c.base
	well.Path, well.RawPath = "/.well-known/caldav", ""
	var first error
	for _, u := range []*url.URL{c.base, &well} {
		ms, at, err := c.requestXML(ctx, "PROPFIND", u, "0", askHome)
		if err == nil {
			for _, r := range ms.Responses {
				if p := r.mergeProps(); p.Type.Calendar != nil || len(p.Principal.Href)+len(p.Homes.Href) > 0 {
					return at, p, nil
				}
			}
			err = c.account.Errorf("no calendars at %s", c.base.Host)
		}
		if first = errors.Join(first, err); errors.Is(err, pim.ErrSignIn) {
			return nil, prop{}, err
		}
		if s, is := errors.AsType[*statusError](err); err != nil && is && s.code >= http.StatusInternalServerError {
			return nil, prop{}, err
		}
	}
	return nil, prop{}, first
}

func (c *Client) listCollections(ctx context.Context, at *url.URL, home, kind string) (out []pim.Calendar, err error) {
	to, err := at.Parse(home)
	if err != nil {
		return nil, c.account.Errorf("the server returned an invalid calendar home")
	}
	ms, where, err := c.requestXML(ctx, "PROPFIND", to, "1", askCalendars)
	if err != nil {
		return nil, err
	}
	for _, r := range ms.Responses {
		p := r.mergeProps()
		u, err := where.Parse(r.Href)
		if err != nil || p.Type.Calendar == nil || !p.Takes.supportsComponent(kind) {
			continue
		}
		out = append(out, newCalendar(u, p))
	}
	return out, nil
}

func newCalendar(at *url.URL, p prop) pim.Calendar {
	name := pim.SanitizeLine(p.Name, 120)
	if name == "" {
		parts := strings.Split(strings.Trim(at.Path, "/"), "/")
		name = pim.SanitizeLine(parts[len(parts)-1], 120)
	}
	token := p.SyncToken
	if token == "" {
		token = p.CTag
	}
	if len(token) > 500 {
		token = ""
	}
	return pim.Calendar{Path: at.String(), Name: name, Token: token, Shared: p.isShared(at)}
}

// PartialError reports that a part of a calendar could not be read. Missing events may still exist.
type PartialError struct {
	// UIDs identify the events that could not be read. If All is set, there may be others.
	UIDs []string
	All  bool
	errs []error
}

// Error implements error.
func (e *PartialError) Error() string { return errors.Join(e.errs[:min(len(e.errs), 3)]...).Error() }

// Misses reports whether an event may exist although it was not returned.
func (e *PartialError) Misses(uid string) bool { return e.All || slices.Contains(e.UIDs, uid) }

func (e *PartialError) addBroken(data string, err error) {
	e.errs = append(e.errs, err)
	before := len(e.UIDs)
	for line := range strings.Lines(data) {
		name, value, ok := strings.Cut(line, ":")
		if name, _, _ = strings.Cut(name, ";"); ok && strings.EqualFold(name, "UID") {
			e.UIDs = append(e.UIDs, pim.SanitizeLine(value, 300))
		}
	}
	e.All = e.All || len(e.UIDs) == before || len(e.UIDs) > maxMissing
}

// Events returns the events of one calendar that overlap the range, in order. It skips events that
// the server omits or that cannot be parsed, and reports them in a PartialError.
func (c *Client) Events(ctx context.Context, cal pim.Calendar, s ics.Span) ([]pim.Event, error) {
	at, err := url.Parse(cal.Path)
	if err != nil {
		return nil, c.account.Errorf("%w: %q", pim.ErrNoFolder, pim.SanitizeLine(cal.Path, 100))
	}
	const form = "20060102T150405Z"
	// servers interpret a day without a zone in UTC, so extend the range by a day on each side
	from, to := s.From.UTC().Add(-24*time.Hour), s.To.UTC().Add(24*time.Hour)
	ms, _, err := c.requestXML(ctx, "REPORT", at, "1", fmt.Sprintf(askEvents, from.Format(form), to.Format(form)))
	if err != nil {
		return nil, err
	}
	out := []pim.Event{}
	var bad PartialError
	for _, r := range ms.Responses {
		p := r.mergeProps()
		if p.Data == "" {
			if to, err := at.Parse(r.Href); err != nil || strings.Trim(to.Path, "/") != strings.Trim(at.Path, "/") || r.isTruncated() {
				bad.addBroken("", fmt.Errorf("the server did not return %s", pim.SanitizeLine(r.Href, 100)))
			}
			continue // some servers also return the calendar itself
		}
		found, err := ics.Events([]byte(p.Data), s)
		if err != nil {
			bad.addBroken(p.Data, err)
		}
		for _, e := range found {
			e.Calendar, e.Version = cal.Name, p.ETag
			if to, err := at.Parse(r.Href); err == nil {
				e.Ref = to.String()
			}
			out = append(out, e)
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	sorting.StableByFunc(out, func(a, b pim.Event) int { return a.Start.Compare(b.Start) })
	if len(bad.errs) > 0 {
		return out, &bad
	}
	return out, nil
}
