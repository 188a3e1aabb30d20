package listfeed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"hob/platform/pim"
)

// Location is the list or folder that a Poller polls and in which Hob answers. It includes all
// accounts and programs that have a list or folder with this name. P is the driver interface.
type Location[P pim.Driver] struct {
	Channel string // the channel that uses it: "reminders"
	Kind    string // its kind, and the configuration key with its name: "list"
	Name    string
	Account string // the only source to use; "" means all
	Remedy  string // what to do if there is no source
	All     func() []P
	Poller  *Poller
}

// Listen creates the Poller. as converts a driver to a Source; Listen sets the name and the sources
// in o.
func (s *Location[P]) Listen(o Options, as func(P) Source) {
	o.What, o.Name = s.Channel, s.Name
	o.Places = func() (out []Source, err error) {
		all, err := s.candidateSources("")
		for _, p := range all {
			out = append(out, as(p))
		}
		return out, err
	}
	s.Poller = NewPoller(o)
}

// Only returns the drivers of list that implement P; list may be nil.
func Only[P, D pim.Driver](list func() []D) (out []P) {
	if list == nil {
		return nil
	}
	for _, d := range list() {
		if p, ok := any(d).(P); ok {
			out = append(out, p)
		}
	}
	return out
}

// ErrUncertain means that the outcome of Say is unknown.
var ErrUncertain = errors.New("write outcome unknown")

// unsupportedError reports that no driver supports the list or folder. errors.Is equates it with
// errors.ErrUnsupported.
type unsupportedError struct{ error }

func (unsupportedError) Is(target error) bool { return target == errors.ErrUnsupported }

// candidateSources returns the drivers of the configured account, or all drivers if none is
// configured. If at is not "", it returns only the driver with this name, because other people may read
// the other lists.
func (s *Location[P]) candidateSources(at string) ([]P, error) {
	var out []P
	var names []string
	for _, p := range s.All() {
		names = append(names, p.Name())
		if s.Account == "" || strings.EqualFold(p.Name(), s.Account) {
			out = append(out, p)
		}
	}
	switch {
	case len(out) > 0:
		if out = sourcesNamed(out, at); len(out) > 0 {
			return out, nil
		}
		return nil, unsupportedError{fmt.Errorf("%s: the account %q is no longer configured for this channel; add it again, or remove its messages", s.Channel, at)}
	case len(names) > 0:
		return nil, unsupportedError{fmt.Errorf("%s: no account %q; set account in [channels.%s] to one of %s", s.Channel, s.Account, s.Channel, strings.Join(names, ", "))}
	}
	return nil, unsupportedError{fmt.Errorf("%s: no account provides a %s that Hob can use; %s", s.Channel, s.Kind, s.Remedy)}
}

// Tell describes the entries of each source. look describes one source and reports whether the
// source is shared.
func (s *Location[P]) Tell(look func(P) (said string, shared bool, err error)) (string, error) {
	places, err := s.candidateSources("")
	var out []string
	for _, p := range places {
		said, shared, err := look(p)
		if errors.Is(err, pim.ErrNoFolder) {
			out = append(out, fmt.Sprintf("%s: no %s %q; create one", p.Name(), s.Kind, s.Name))
			continue
		}
		if _, partly := errors.AsType[*pim.PartialError](err); err != nil && !partly {
			return "", fmt.Errorf("%s: %s: %w", s.Channel, p.Name(), err)
		}
		out = append(out, fmt.Sprintf("%s: %s in the %s %q", p.Name(), said, s.Kind, s.Name))
		if shared {
			out = append(out, "entries of shared lists and folders are not treated as yours")
		}
	}
	return strings.Join(out, "; "), err
}

// Say writes an entry of Hob to the source with the given name, or to the first source that has the
// list or folder, and returns the entry's reference. If asks is set, older entries are not accepted
// as answers.
func (s *Location[P]) Say(ctx context.Context, at string, asks bool, put func(P, Key) (pim.Receipt, error)) (ref string, err error) {
	if asks {
		if err := s.Poller.RecordSnapshot(ctx, at); err != nil {
			return "", err
		}
	}
	key, err := s.Poller.Key(ctx)
	if err != nil {
		return "", err
	}
	places, err := s.candidateSources(at)
	if err != nil {
		return "", err
	}
	var got pim.Receipt
	for _, p := range places {
		if got, err = put(p, key); err == nil || ctx.Err() != nil || !isNotFoundThere(err) {
			break
		}
	}
	switch {
	case isNotFoundThere(err):
		return "", fmt.Errorf("%s: %w; create a %s named %q or set %s in [channels.%s]", s.Channel, err, s.Kind, s.Name, s.Kind, s.Channel)
	case err != nil:
		return "", fmt.Errorf("%s: %w", s.Channel, err)
	case got.Outcome == pim.Uncertain:
		return "", fmt.Errorf("%s: %w: %s", s.Channel, ErrUncertain, got.Why)
	}
	s.Poller.Made(ctx, got.ID)
	return got.ID, nil
}

// Find searches for an entry where Say would create it. look returns "" for a
// missing entry.
func (s *Location[P]) Find(ctx context.Context, at string, look func(P, Key) (ref string, err error)) (string, error) {
	key, err := s.Poller.Key(ctx)
	if err != nil {
		return "", err
	}
	places, err := s.candidateSources(at)
	for _, p := range places {
		ref, err := look(p, key)
		if ref != "" || err != nil && !errors.Is(err, pim.ErrNoFolder) {
			return ref, err
		}
	}
	return "", err
}

// Lasting reports whether a retry cannot succeed.
func Lasting(err error) bool {
	return isNotFoundThere(err) || errors.Is(err, pim.ErrInvalid) || errors.Is(err, pim.ErrRefused)
}

// isNotFoundThere reports whether an error means that the list or folder does not exist in that
// source.
func isNotFoundThere(err error) bool {
	return errors.Is(err, pim.ErrNoFolder) || errors.Is(err, pim.ErrNotFound) || errors.Is(err, errors.ErrUnsupported)
}

// sourcesNamed returns the source with the given name, or all sources if name is "".
func sourcesNamed[P pim.Driver](places []P, name string) []P {
	if name == "" {
		return places
	}
	return slices.DeleteFunc(slices.Clone(places), func(p P) bool { return p.Name() != name })
}

// Title returns the first line of text, truncated to most characters.
func Title(text string, most int) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return cmp.Or(pim.SanitizeLine(line, most), "…")
}
