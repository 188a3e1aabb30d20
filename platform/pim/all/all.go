// Package all lists the kinds of servers that an account may have. Each kind is one line here.
package all

import (
	"strings"

	"hob/platform/pim"
	"hob/platform/pim/caldav"
	"hob/platform/pim/imapmail"
	"hob/platform/pim/smtpmail"
)

// Kinds returns the driver of each kind, in the order in which setup asks for them.
func Kinds() []pim.AccountKind {
	return []pim.AccountKind{
		imapmail.Kind{},
		smtpmail.Kind{},
		caldav.Calendars{},
		caldav.AddressBooks{},
	}
}

// Descriptions describes the kinds in the order of Kinds.
func Descriptions() (out []pim.AccountDescription) {
	for _, k := range Kinds() {
		out = append(out, k.Describe())
	}
	return out
}

// Keys lists the keys of the kinds.
func Keys() (out []string) {
	for _, d := range Descriptions() {
		out = append(out, d.Key)
	}
	return out
}

// KeyChoice lists the keys as alternatives: "imap, smtp or caldav".
func KeyChoice() string {
	keys := Keys()
	last := len(keys) - 1
	return strings.Join(keys[:last], ", ") + " or " + keys[last]
}
