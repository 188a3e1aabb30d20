package tools

import (
	"context"
	"errors"
	"slices"
	"strings"

	"hob/platform/pim"
	"hob/platform/provenance"
	"hob/platform/text/textnorm"
)

// WholePerson formats a person with their complete address.
func WholePerson(p pim.Person) string {
	if p.Name == "" {
		return p.Address
	}
	return pim.Person{Name: p.Name}.String() + " <" + p.Address + ">"
}

// PersonIn resolves an address, "Name <address>", or a name that people finds in the owner's
// address books. people may be nil. If several people match, the error names them.
func PersonIn(ctx context.Context, s string, people func(ctx context.Context, words string) ([]pim.Contact, error)) (pim.Person, error) {
	s = strings.TrimSpace(s)
	name, rest, has := strings.Cut(s, "<")
	if addr, tail, closed := strings.Cut(rest, ">"); has && closed && strings.TrimSpace(tail) == "" {
		p := pim.Person{Name: strings.Trim(strings.TrimSpace(name), `"`), Address: strings.ToLower(strings.TrimSpace(addr))}
		return p, classifyPathError(pim.CheckPerson(p))
	}
	if strings.Contains(s, "@") {
		p := pim.Person{Address: strings.ToLower(s)}
		return p, classifyPathError(pim.CheckPerson(p))
	}
	if s == "" {
		return pim.Person{}, Errorf(InvalidArguments, "a recipient is empty")
	}
	remedy := "give the address"
	if people == nil {
		return pim.Person{}, Errorf(NotFound, "the email address of %q is unknown; %s", Clean(textnorm.Ellipsize(s, 80)), Clean(remedy))
	}
	list, err := people(ctx, s)
	if err != nil && len(list) == 0 {
		err = Errorf(Failed, "address lookup for %q failed; %s: %w", Clean(textnorm.Ellipsize(s, 80)), Clean(remedy), err)
		return pim.Person{}, Quoting(err, provenance.Outside)
	}
	var with []string
	var found pim.Person
	for _, c := range list {
		for _, a := range c.Addresses {
			p := pim.Person{Name: textnorm.Ellipsize(c.Name, 100), Address: strings.ToLower(a)}
			if pim.CheckPerson(p) == nil && !slices.Contains(with, WholePerson(p)) {
				with, found = append(with, WholePerson(p)), p
			}
		}
	}
	switch len(with) {
	case 0:
		return pim.Person{}, Errorf(NotFound, "the address book contains no email address for %q; %s", Clean(textnorm.Ellipsize(s, 80)), Clean(remedy))
	case 1:
		return found, nil
	}
	err = Errorf(InvalidArguments, "%q matches several people: %s; give the address", Clean(textnorm.Ellipsize(s, 80)), strings.Join(with[:min(len(with), 8)], ", "))
	return pim.Person{}, Quoting(err, provenance.Outside)
}

func classifyPathError(err error) error {
	if err != nil {
		return Errorf(InvalidArguments, "%w", CleanErr(err))
	}
	return nil
}

// ClassifyPIM maps an error of a driver of platform/pim to an Error. It is untrusted, because it
// may quote a server or an app.
func ClassifyPIM(err error) error {
	if _, is := errors.AsType[*Error](err); is || err == nil {
		return err
	}
	code := Failed
	switch {
	case errors.Is(err, pim.ErrInvalid):
		code = InvalidArguments
	case errors.Is(err, pim.ErrNotFound), errors.Is(err, pim.ErrNoFolder):
		code = NotFound
	case errors.Is(err, pim.ErrChanged):
		code = Conflict
	case errors.Is(err, errors.ErrUnsupported), errors.Is(err, pim.ErrNoServer):
		code = Unsupported
	case errors.Is(err, context.DeadlineExceeded):
		code = TimedOut
	}
	return Quoting(Errorf(code, "%w", err), provenance.Outside)
}
