package netaccount

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"hob/platform/pim"
	"hob/platform/pim/caldav"
	"hob/platform/pim/compose"
	"hob/platform/pim/ics"
	"hob/platform/text/sorting"
)

// Calendars are the calendars of an account.
type Calendars struct{ account pim.Account }

// NewCalendars returns the calendars of an account with a CalDAV server.
func NewCalendars(a pim.Account) *Calendars { return &Calendars{a} }

// Name implements pim.Driver.
func (c *Calendars) Name() string { return c.account.Name }

func (c *Calendars) withClient(ctx context.Context, do func(*caldav.Client) error) error {
	d, err := caldav.Open(ctx, c.account)
	if err != nil {
		return err
	}
	defer d.Close()
	return do(d)
}

// ListCalendars implements pim.Calendars.
func (c *Calendars) ListCalendars(ctx context.Context) (out []pim.Calendar, err error) {
	err = c.withClient(ctx, func(d *caldav.Client) error {
		out, err = d.Calendars(ctx)
		return err
	})
	return out, err
}

// FindEvents implements pim.Calendars.
func (c *Calendars) FindEvents(ctx context.Context, s pim.TimeRange) (out []pim.Event, err error) {
	var warnings []string
	err = c.withClient(ctx, func(d *caldav.Client) error {
		list, err := d.Calendars(ctx)
		if err != nil {
			return err
		}
		for _, cal := range list {
			some, err := d.Events(ctx, cal, s)
			if _, partial := errors.AsType[*caldav.PartialError](err); partial {
				warnings = append(warnings, c.account.Errorf("cannot read some events of %s", pim.SanitizeLine(cal.Name, 60)).Error())
			} else if err != nil {
				return err
			}
			out = append(out, some...)
		}
		return nil
	})
	sorting.StableByFunc(out, func(a, b pim.Event) int { return a.Start.Compare(b.Start) })
	if err == nil {
		err = pim.Partial(warnings...)
	}
	return out, err
}

// objectUndo is the undo data of a write. Before is the content that was stored at Path before the
// write (nil if there was none), and ETag is the version that is stored now ("" if the object was
// deleted).
type objectUndo struct {
	Path   string
	Before []byte
	ETag   string
}

func (p objectUndo) marshalUndo() []byte {
	b, err := json.Marshal(p)
	if err != nil { // a programming error: plain data always encodes
		panic(err)
	}
	return b
}

const calendarData = "text/calendar"

// asUnknownOutcome returns an Uncertain receipt if err wraps lost, and otherwise out and err
// unchanged.
func asUnknownOutcome(out pim.Receipt, err error, lost error) (pim.Receipt, error) {
	if errors.Is(err, lost) {
		return pim.Receipt{Outcome: pim.Uncertain, Why: err.Error()}, nil
	}
	return out, err
}

// CreateEvent implements pim.Calendars.
func (c *Calendars) CreateEvent(ctx context.Context, calendar string, e pim.NewEvent) (pim.Receipt, error) {
	if e.UID == "" {
		e.UID = compose.NewID(c.account.Address)
	}
	data, err := ics.New(e, c.organizerPerson(), time.Now())
	if err != nil {
		return pim.Receipt{}, err
	}
	return c.createObject(ctx, (*caldav.Client).Calendars, calendar, e.UID, data)
}

// createObject stores a new object in the named calendar or, if calendar is "", in the first
// calendar that accepts it. If an object with the same name exists, it counts as stored.
func (c *Calendars) createObject(ctx context.Context, those func(*caldav.Client, context.Context) ([]pim.Calendar, error), calendar, uid string, data []byte) (out pim.Receipt, err error) {
	err = c.withClient(ctx, func(d *caldav.Client) error {
		list, err := those(d, ctx)
		if err != nil {
			return err
		}
		var fit []pim.Calendar
		var names []string
		for _, cal := range list {
			names = append(names, cal.Name)
			if calendar == "" || cal.Path == calendar || strings.EqualFold(cal.Name, calendar) {
				fit = append(fit, cal)
			}
		}
		sorting.StableByFunc(fit, func(a, b pim.Calendar) int { // unshared calendars first
			return cmp.Compare(sharedRank(a), sharedRank(b))
		})
		if len(fit) == 0 {
			return c.account.Errorf("%w: no calendar %q; available: %s", pim.ErrNoFolder, pim.SanitizeLine(calendar, 60), pim.SanitizeLine(cmp.Or(strings.Join(names, ", "), "none"), 300))
		}
		for i, cal := range fit {
			path, err := inFolder(cal.Path, uid)
			if err != nil {
				return err
			}
			etag, err := d.Write(ctx, path, data, "", calendarData)
			if errors.Is(err, pim.ErrRefused) && i+1 < len(fit) { // a read-only calendar, such as a shared calendar or one with birthdays
				continue
			}
			if errors.Is(err, pim.ErrChanged) { // the object exists already: an earlier attempt succeeded without a confirmation
				if there, tag, rerr := d.Read(ctx, path); rerr == nil && strings.Contains(string(there), uid) {
					etag, err = tag, nil
				}
			}
			if err != nil {
				return err
			}
			out = pim.Receipt{Outcome: pim.Sent, ID: path, Why: cal.Name, Undo: objectUndo{path, nil, etag}.marshalUndo()}
			return nil
		}
		return nil
	})
	return asUnknownOutcome(out, err, caldav.ErrUnsure)
}

func sharedRank(c pim.Calendar) int {
	if c.Shared {
		return 1
	}
	return 0
}

func (c *Calendars) organizerPerson() pim.Person { return pim.Person{Address: c.account.Address} }

// inFolder returns the path of an object in a folder.
func inFolder(folder, uid string) (string, error) {
	at, err := url.Parse(strings.TrimRight(folder, "/") + "/")
	if err != nil {
		return "", fmt.Errorf("%w: %q", pim.ErrNoFolder, pim.SanitizeLine(folder, 100))
	}
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '.' {
			return r
		}
		return '-'
	}, uid)
	return at.JoinPath(name + ".ics").String(), nil
}

// rewriteObject replaces an object with the result of change. It retries once if the
// object changed since it was found.
func (c *Calendars) rewriteObject(ctx context.Context, path string, change func([]byte) ([]byte, error)) (out pim.Receipt, err error) {
	err = c.withClient(ctx, func(d *caldav.Client) error {
		for again := true; ; again = false {
			before, etag, err := d.Read(ctx, path)
			if err != nil {
				return err
			}
			after, err := change(before)
			if err != nil {
				return err
			}
			now, err := d.Write(ctx, path, after, etag, calendarData)
			if errors.Is(err, pim.ErrChanged) && again {
				continue
			}
			out = pim.Receipt{Outcome: pim.Sent, ID: path, Undo: objectUndo{path, before, now}.marshalUndo()}
			return err
		}
	})
	return asUnknownOutcome(out, err, caldav.ErrUnsure)
}

// ChangeEvent implements pim.Calendars.
func (c *Calendars) ChangeEvent(ctx context.Context, e pim.Event, change pim.EventChange, whole bool) (pim.Receipt, error) {
	return c.rewriteObject(ctx, e.Ref, func(b []byte) ([]byte, error) {
		return ics.Changed(b, e, change, whole, e.Start.Location(), time.Now())
	})
}

// DeleteEvent implements pim.Calendars.
func (c *Calendars) DeleteEvent(ctx context.Context, e pim.Event, whole bool) (out pim.Receipt, err error) {
	if e.Occurrence != "" && !whole {
		return c.rewriteObject(ctx, e.Ref, func(b []byte) ([]byte, error) { return ics.Without(b, e, e.Start.Location(), time.Now()) })
	}
	err = c.withClient(ctx, func(d *caldav.Client) error {
		before, etag, err := d.Read(ctx, e.Ref)
		if err != nil {
			return err
		}
		out = pim.Receipt{Outcome: pim.Sent, ID: e.Ref, Undo: objectUndo{e.Ref, before, ""}.marshalUndo()}
		return d.Remove(ctx, e.Ref, etag)
	})
	return asUnknownOutcome(out, err, caldav.ErrUnsure)
}

// TakeBack implements pim.Undoer.
func (c *Calendars) TakeBack(ctx context.Context, data []byte) error {
	var u objectUndo
	if err := json.Unmarshal(data, &u); err != nil {
		return fmt.Errorf("invalid undo record: %w", err)
	}
	return c.withClient(ctx, func(d *caldav.Client) error {
		var err error
		if u.Before == nil {
			err = d.Remove(ctx, u.Path, u.ETag)
		} else {
			_, err = d.Write(ctx, u.Path, u.Before, u.ETag, calendarData)
		}
		if errors.Is(err, pim.ErrNotFound) {
			return fmt.Errorf("%w: the event no longer exists", pim.ErrChanged)
		}
		return err
	})
}

// Schedules reports whether the server itself sends invitations.
func (c *Calendars) Schedules(ctx context.Context) (is bool, err error) {
	err = c.withClient(ctx, func(d *caldav.Client) error {
		is, err = d.Schedules(ctx)
		return err
	})
	return is, err
}
