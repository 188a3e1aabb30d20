package guard

import (
	"fmt"
	"slices"

	"hob/tools"
)

// applyTable decides on one call by the decision table (docs/guard.md).
func (g *Guard) applyTable(r Request) Decision {
	s := r.Tool.Spec()
	if r.callEffects().ReadOnly() {
		if r.Guest && s.Category != "engine" { // the list of tools is not secret
			return decideGuest()
		}
		if r.judged.Private && !r.Attended {
			return askDecision("read, private, unattended", "it would read your screen or clipboard while you are away")
		}
		return Decision{Verdict: Allow, Rule: "read", Reason: "it only reads"}
	}
	if g.effectiveLevel(r) == Watch {
		return Decision{Verdict: Deny, Rule: "level watch", Reason: "Hob may only read ([autonomy] level = \"watch\")", Code: tools.PolicyDenied}
	}
	if r.judged.Private && !r.Attended { // a later approval would apply to a screen that has changed
		return Decision{Verdict: Deny, Rule: "desktop, unattended", Reason: "it acts in your windows, which Hob does only while you are present", Code: tools.PolicyDenied}
	}
	if r.Guest { // takes precedence over the rows below, which apply to the owner
		return decideGuest()
	}
	switch {
	case r.callEffects()&^tools.Effects(tools.Read|tools.Write|tools.Send|tools.Egress|tools.Exec|tools.Destroy|tools.Secret) != 0:
		return askDecision("unknown effect", "it has an effect that this version of Hob does not know")
	case r.callEffects()&tools.Destroy != 0:
		return askDecision("destroy", "it deletes data that cannot be restored")
	case r.callEffects()&tools.Secret != 0:
		return askDecision("secret", "it reveals a credential")
	case r.callEffects()&tools.Exec != 0:
		return decideExec(r)
	}
	d := Decision{Verdict: Allow}
	if r.callEffects()&tools.Send != 0 {
		d = stricterDecision(d, g.decideSend(r))
	}
	if r.callEffects()&tools.Egress != 0 {
		d = stricterDecision(d, g.decideEgress(r))
	}
	switch {
	case r.callEffects()&tools.Write == 0:
	case s.Starts != 0 && s.Category != standing: // the only change is the task's row in Hob's store
		d = stricterDecision(d, decideStart(r))
	default:
		d = stricterDecision(d, g.decideWrite(r))
	}
	return decideBatch(r, d)
}

// decideStart decides on calls that start a background task. Each call of the task is checked as
// unattended. With untrusted text in context, the start itself needs approval, because the task
// could later request approvals when the owner is distracted.
func decideStart(r Request) Decision {
	if r.Tainted {
		return askDecision("task, tainted", "untrusted text is part of this conversation, and this would start a background task")
	}
	if r.Attended {
		return Decision{Verdict: Allow, Rule: "task, owner asked, clean", Reason: "you asked for it, and each step of the task is checked separately"}
	}
	return Decision{Verdict: Allow, Rule: "task, unattended, clean", Reason: "no untrusted text is involved, and each step of the task is checked separately"}
}

// stricterDecision combines the decisions on a call with several effects. The call is allowed only
// if both decisions allow it. Otherwise stricterDecision returns the first decision that does not.
func stricterDecision(a, b Decision) Decision {
	if b.Verdict < a.Verdict || a.Verdict == Allow && b.Verdict == Allow && (a.Rule == "" || b.Rule == Verbatim) {
		return b
	}
	return a
}

// effectiveLevel returns the autonomy level for this call. An unknown level allows only reads.
func (g *Guard) effectiveLevel(r Request) Level {
	switch l := g.opt.Level.Narrower(r.Level); l {
	case Watch, Supervised, Trusted:
		return l
	}
	return Watch
}

// decideGuest decides on calls for a guest. Even a lookup would reveal its result to the guest.
func decideGuest() Decision {
	return askDecision("for somebody else", "a guest asks for this and would see the result")
}

// standing is the category of the tools for watchers and schedules, which act later and
// unattended.
const standing = "watch"

// decideSend decides on calls that reach a person or a service.
func (g *Guard) decideSend(r Request) Decision {
	to := r.judged.To
	own := len(to) > 0 && !slices.ContainsFunc(to, func(t string) bool { return t != tools.Owner })
	switch {
	case !r.Attended && r.Tainted:
		return askDecision("send, unattended", "it reaches a person or a service while you are away, and untrusted text is involved")
	case r.Tainted:
		return askDecision("send, tainted", "it reaches a person or a service, and untrusted text is part of this conversation")
	case own && r.Attended:
		return Decision{Verdict: Allow, Rule: "send, to the owner", Reason: "it reaches only you"}
	case g.effectiveLevel(r) == Trusted && isAllowedRecipients(to, g.opt.Recipients):
		return Decision{Verdict: Allow, Rule: "send, trusted, listed", Reason: "[autonomy] level = \"trusted\" allows it for the listed recipients while no untrusted text is involved"}
	case !r.Attended:
		return askDecision("send, unattended", "it would reach a person or a service while you are away")
	}
	return askDecision("send", "it reaches a person or a service")
}

// isAllowedRecipients reports whether a send reaches only the owner and recipients in list.
// Addresses must be normalized and match completely. An empty to does not match.
func isAllowedRecipients(to, list []string) bool {
	for _, t := range to {
		if t == "" || t != tools.Owner && !slices.Contains(list, t) {
			return false
		}
	}
	return len(to) > 0
}

// batchSize is the number of items that a tool may change in a turn without an approval for the
// batch. agreedSize is the number after such an approval.
const (
	batchSize  = 20
	agreedSize = 200
)

// BatchRule is the rule that requires approval before many items are changed. BatchMark is the
// suffix of the rule for a call for which the owner answered that request.
const (
	BatchRule = "batch"
	BatchMark = ", batch"
)

// decideBatch requires approval before many items are changed, together or one by one in a turn,
// even if each change could be undone.
func decideBatch(r Request, d Decision) Decision {
	if d.Verdict != Allow || r.callEffects()&^(tools.Read|tools.Egress) == 0 {
		return d
	}
	items, size := max(1, r.judged.Items, len(r.judged.To)), batchSize
	if r.Agreed {
		size = agreedSize
	}
	switch {
	case r.Refused:
		return Decision{Verdict: Deny, Rule: "no more of these", Code: tools.PolicyDenied, Reason: "you did not agree to more changes of this kind in this turn"}
	case items > batchSize:
		return askDecision(BatchRule, fmt.Sprintf("it changes %d items at once", items))
	case r.Made+items > size:
		return askDecision(BatchRule, fmt.Sprintf("it has already changed %d items in this turn and would change more", r.Made))
	}
	return d
}

// decideWrite decides on reversible changes on this machine.
func (g *Guard) decideWrite(r Request) Decision {
	s := r.Tool.Spec()
	undoer, ok := r.Tool.(tools.Undoer)
	undo := ok && undoer.CanUndo()
	harmless := s.Own && undo
	switch {
	case r.Attended && !r.Tainted && undo:
		return Decision{Verdict: Allow, Rule: "write, owner asked, clean", Reason: "you asked for it, and it can be undone"}
	case g.effectiveLevel(r) == Trusted && !r.Tainted && (s.Foreign || !r.Attended):
		return Decision{Verdict: Allow, Rule: "write, trusted, clean", Reason: "[autonomy] level = \"trusted\" allows it while no untrusted text is involved"}
	case r.Attended && !r.Tainted && s.Foreign: // Hob cannot revert what a third-party tool changes
		return askDecision("write, no undo", "a third-party tool would change something, and Hob cannot undo that")
	case r.Attended && !r.Tainted:
		return Decision{Verdict: Allow, Rule: "write, owner asked, clean", Reason: "you asked for it"}
	case r.Attended && harmless && s.Category == standing:
		return askDecision("standing order, tainted", "untrusted text is part of this conversation, and this would continue to act after the conversation")
	case r.Attended && harmless:
		return Decision{Verdict: Allow, Rule: "write, tainted, own store", Reason: "it only changes Hob's own notes, and can be undone"}
	case (r.Attended || g.opt.Research && !r.Client && !r.Guest) && r.judged.Inert && undo && r.callEffects()&^(tools.Read|tools.Write|tools.Egress) == 0:
		return Decision{Verdict: Allow, Rule: "write, tainted, drop", Reason: "it creates a new file that nothing runs, in the folder reserved for such files, and can be undone"}
	case r.Attended:
		return askDecision("write, tainted", "untrusted text is part of this conversation, and the change is not limited to Hob's own notes")
	case r.Client && harmless && s.Category != standing:
		return Decision{Verdict: Allow, Rule: "write, client, own store", Reason: "you allow this program to use the tool, it only changes Hob's own notes, and can be undone"}
	case r.Client:
		return askDecision("write, client", "an external program requests it, and the change is not limited to Hob's own notes")
	case harmless && (!r.Tainted || s.Category != standing):
		return Decision{Verdict: Allow, Rule: "write, unattended, granted by its own words", Reason: "the watcher or schedule you set up asks for it, it only changes Hob's own notes, and can be undone"}
	}
	return askDecision("write, unattended", "it would happen while you are away, and you did not ask for it")
}

// decideExec decides on running programs. A known read-only program runs without approval if the
// context contains only the owner's words.
func decideExec(r Request) Decision {
	listed := r.judged.Listed && r.callEffects()&^tools.Effects(tools.Read|tools.Exec) == 0
	switch {
	case listed && r.Attended && !r.Tainted && !r.Guest:
		return Decision{Verdict: Allow, Rule: "exec, read-only command, clean", Reason: "you asked for it, and it only reads"}
	case listed && r.Tainted:
		return askDecision("exec, tainted", "it runs a program, and untrusted text is part of this conversation")
	case listed:
		return askDecision("exec, unattended", "it runs a program that you did not just ask for")
	}
	return askDecision("exec", "it runs a program")
}

func askDecision(rule, reason string) Decision {
	return Decision{Verdict: Ask, Rule: rule, Reason: reason}
}

// askIfDoubted requires approval if Request.Doubt returns a reason.
func askIfDoubted(r Request, d Decision) Decision {
	if r.Doubt == nil || d.Verdict == Deny {
		return d
	}
	switch why := r.Doubt(r.callEffects()); {
	case why == "":
		return d
	case d.Verdict == Ask:
		d.Reason += "; " + why
		return d
	default:
		return askDecision("not sure enough", why)
	}
}
