package guard

import "hob/tools"

// denySecret denies a call that would send one of this process's secrets, in any encoding. The
// owner cannot approve such a call, because the owner cannot see that the arguments contain an
// encoded secret.
func (g *Guard) denySecret(r Request) (Decision, bool) {
	if r.callEffects()&^tools.Effects(tools.Read|tools.Write) == 0 && !r.Tool.Spec().Remote {
		return Decision{}, false
	}
	for _, text := range append([]string{string(r.Args), r.judged.Exact, r.judged.Query}, r.judged.URLs...) {
		if g.opt.Secrets.Holds(text) {
			return Decision{
				Verdict: Deny, Rule: "secret in the arguments", Code: tools.PolicyDenied,
				Reason: "the arguments contain one of Hob's own secrets, which must not leave Hob; use its reference (env:NAME, keychain:NAME) instead",
			}, true
		}
	}
	return Decision{}, false
}
