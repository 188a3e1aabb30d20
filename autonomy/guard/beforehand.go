package guard

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"hob/tools"
)

// ErrBeforehand wraps the reason why an approval that was given in advance (`hob ask --yes`) does
// not cover a request. The request stays open.
var ErrBeforehand = errors.New("an approval given beforehand does not cover this request")

// beforehandStep adds the effects of the call, which determine what an approval given in advance
// covers. Older rows have no effects and are not covered.
const beforehandStep = `ALTER TABLE approvals ADD COLUMN effects TEXT NOT NULL DEFAULT '';`

// effectsText returns the effects as text for a row. If bits are set that this version does not
// know, it returns "unknown".
func effectsText(e tools.Effects) string {
	const known = tools.Read | tools.Write | tools.Send | tools.Egress | tools.Exec | tools.Destroy | tools.Secret
	if e == 0 || e&^known != 0 {
		return "unknown"
	}
	return e.String()
}

// coveredBeforehand returns nil if an approval given before the turn began covers the request. This
// requires that the request belongs to that turn, the turn has read no untrusted text, and the call
// neither destroys data nor reveals a credential.
func (a Approval) coveredBeforehand(turn string, ans Answer) error {
	refuse := func(why string) error { return fmt.Errorf("%w: %s", ErrBeforehand, why) }
	harmful := slices.ContainsFunc(strings.Split(a.Effects, "+"), func(e string) bool {
		return !slices.Contains([]string{"read", "write", "send", "egress", "exec"}, e)
	})
	switch {
	case ans.Scope != scopeOnce:
		return refuse("it covers single calls, not a scope")
	case a.Event != turn:
		return refuse("the request belongs to another turn or task")
	case !a.Attended:
		return refuse("the request was made while you were away")
	case a.Provenance.Tainted():
		return refuse("the conversation contains untrusted text")
	case strings.Contains(a.Effects, "destroy"):
		return refuse("the call destroys data permanently")
	case strings.Contains(a.Effects, "secret"):
		return refuse("the call reveals a credential")
	case harmful:
		return refuse("the effects of the call are unknown")
	}
	return nil
}
