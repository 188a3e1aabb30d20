package signin

import (
	"context"
	"errors"
	"sync"
	"time"

	"hob/platform/pim"
	pimall "hob/platform/pim/all"
)

// Answer is the response of one server of an account.
type Answer struct {
	Server string // key of the server's kind, such as "imap"
	Said   string // message for the user
	Err    error
	// Essential is true if a refused sign-in at this server means that the password is wrong.
	Essential bool
}

// checkWait is the time limit for checking all servers of an account.
const checkWait = 10 * time.Second

// maxSaid is the maximum length of an error message about a server, in characters.
const maxSaid = 400

// Check signs in to each server of an account. It does not read or send email.
func Check(ctx context.Context, a pim.Account) []Answer {
	ctx, cancel := context.WithTimeout(ctx, checkWait)
	defer cancel()
	var out []Answer
	var kinds []pim.AccountKind
	for _, k := range pimall.Kinds() {
		if d := k.Describe(); a.Server(d.Key) != "" {
			out, kinds = append(out, Answer{Server: d.Key, Essential: d.Essential}), append(kinds, k)
		}
	}
	var wg sync.WaitGroup
	for i, k := range kinds {
		wg.Go(func() {
			said, err := k.Test(ctx, a)
			if out[i].Said = pim.SanitizeLine(said, maxSaid); err != nil {
				out[i].Err = lineError{pim.SanitizeLine(err.Error(), maxSaid), err}
			}
		})
	}
	wg.Wait()
	return out
}

// lineError formats a server's error as one line that is safe for a terminal, because certificates
// and responses are untrusted.
type lineError struct {
	line string
	err  error
}

// Error implements error.
func (e lineError) Error() string { return e.line }

// Unwrap returns the unformatted error.
func (e lineError) Unwrap() error { return e.err }

// Refused reports whether the server rejected the credentials.
func (a Answer) Refused() bool { return errors.Is(a.Err, pim.ErrSignIn) }
