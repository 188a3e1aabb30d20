package pim

import (
	"context"
	"strings"
)

// AccountKind is the driver of a kind of server that an account may have, such as a mailbox or
// calendars. Its methods may be called concurrently.
type AccountKind interface {
	Describe() AccountDescription
	// Test signs in to the account's server of this kind and describes in one line what the account
	// can do. It changes nothing and stops when ctx ends. It returns ErrSignIn if the server
	// rejects the password.
	Test(ctx context.Context, a Account) (string, error)
}

// AccountDescription describes a kind of server. Setup, the doctor, the command line, the
// configuration and the documentation use no other information about a kind.
type AccountDescription struct {
	// Key is the key in [accounts.NAME] and the name of the flag of `hob account add`.
	Key string
	// Label names the server in lists: "outgoing mail".
	Label string
	// Flag is the help of the flag, Question is what setup asks, and Help describes the key in the
	// documentation.
	Flag, Question, Help string
	// Check validates a server.
	Check func(server string) error
	// Complete returns the server of an account that is being added with the scheme that the user
	// did not write. It asks the server and sends no secret. Nil completes nothing.
	Complete func(ctx context.Context, a Account) string
	// Announced lists the DNS service names for servers of this kind in a mail domain, best first.
	// It may be empty.
	Announced []AnnouncedService
	// Essential is true if an account must not be added when this server refuses the sign-in,
	// because the password must be wrong.
	Essential bool
}

// AnnouncedService is a service name of DNS SRV records (RFC 6186, 6764).
type AnnouncedService struct {
	Service string // "imaps"
	// Prefix and Suffix are put around the announced host and port to form the server's value.
	Prefix, Suffix string
}

// checkServer returns a function that validates the servers of a mail protocol.
func checkServer(protocol string) func(string) error {
	return func(server string) error { _, err := ParseServer(protocol, server); return err }
}

// MailKind completes the description of a kind of mail server: protocol is its key, secure and
// startTLS are its announced services.
func MailKind(protocol, secure, startTLS string, d AccountDescription) AccountDescription {
	d.Key, d.Check = protocol, checkServer(protocol)
	d.Complete = func(ctx context.Context, a Account) string { return a.completeScheme(ctx, protocol) }
	d.Announced = []AnnouncedService{{Service: secure, Prefix: protocol + "s://"}, {Service: startTLS, Prefix: protocol + "://"}}
	return d
}

// CheckURL validates the address of a calendar or contacts server.
func CheckURL(address string) error { _, err := ParseURL(address); return err }

// JoinNames joins untrusted names in one line of at most 200 characters.
func JoinNames(names []string) string { return SanitizeLine(strings.Join(names, ", "), 200) }
