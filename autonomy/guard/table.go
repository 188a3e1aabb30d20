package guard

import "hob/tools"

// table is section 6 of the architecture for one call.
func (g *Guard) table(r Request) Decision {
	s := r.Tool.Spec()
	if r.effects().ReadOnly() {
		if r.Guest && s.Category != "engine" { // which tools there are is no secret
			return guest()
		}
		return Decision{Verdict: Allow, Rule: "read", Reason: "it only looks"}
	}
	if g.level(r) == Watch {
		return Decision{Verdict: Deny, Rule: "level watch", Reason: "Hob is set to look only ([autonomy] level = \"watch\")", Code: tools.PolicyDenied}
	}
	switch {
	case r.effects()&^tools.Effects(tools.Read|tools.Write|tools.Send|tools.Egress|tools.Exec|tools.Destroy|tools.Secret) != 0:
		return ask("unknown effect", "it does something that this Hob does not know")
	case r.effects()&tools.Destroy != 0:
		return ask("destroy", "it cannot be undone")
	case r.effects()&tools.Secret != 0:
		return ask("secret", "it reveals a credential")
	case r.effects()&tools.Exec != 0:
		return exec(r)
	case r.effects()&tools.Send != 0:
		return ask("send", "it reaches a person or a service")
	case r.effects()&tools.Egress != 0:
		return ask("egress", "it contacts an address that the model chose")
	}
	if r.Guest {
		return guest()
	}
	return g.write(r)
}

// level is how much Hob may do in this call by itself. A level that nobody
// knows allows looking only.
func (g *Guard) level(r Request) Level {
	switch l := g.opt.Level.Narrower(r.Level); l {
	case Watch, Supervised, Trusted:
		return l
	}
	return Watch
}

// guest is the row of somebody who is not the owner and is answered: even
// looking something up tells them of it.
func guest() Decision {
	return ask("for somebody else", "somebody else asks for this and would be told what comes of it")
}

// standing is the category of tools that make, change and end standing orders:
// watchers and schedules, which act later and unattended.
const standing = "watch"

// write is the row of reversible changes on this machine.
func (g *Guard) write(r Request) Decision {
	s := r.Tool.Spec()
	undoer, ok := r.Tool.(tools.Undoer)
	undo := ok && undoer.CanUndo()
	harmless := s.Own && undo
	switch {
	case r.Attended && !r.Tainted && undo:
		return Decision{Verdict: Allow, Rule: "write, owner asked, clean", Reason: "you asked for it, and it can be undone"}
	case r.Attended && !r.Tainted:
		return Decision{Verdict: Allow, Rule: "write, owner asked, clean", Reason: "you asked for it"}
	case g.level(r) == Trusted && !r.Tainted:
		return Decision{Verdict: Allow, Rule: "write, trusted, clean", Reason: "[autonomy] level = \"trusted\" allows it while no text from outside has a part in it"}
	case r.Attended && harmless && s.Category == standing:
		return ask("standing order, tainted", "text from outside is part of this conversation, and this would go on acting after it")
	case r.Attended && harmless:
		return Decision{Verdict: Allow, Rule: "write, tainted, own store", Reason: "it only changes Hob's own notes, and can be undone"}
	case r.Attended:
		return ask("write, tainted", "text from outside is part of this conversation, and the change is not confined to Hob's own notes")
	case harmless && (!r.Tainted || s.Category != standing):
		return Decision{Verdict: Allow, Rule: "write, unattended, granted by its own words", Reason: "the watcher or schedule you set up asks for it, it only changes Hob's own notes, and can be undone"}
	}
	return ask("write, unattended", "it would happen while you are away, without your word for it")
}

// exec is the row of programs that run. One that is known to look only needs no
// question while nobody but the owner has a part in it.
func exec(r Request) Decision {
	listed := r.judged.Listed && r.effects()&^tools.Effects(tools.Read|tools.Exec) == 0
	switch {
	case listed && r.Attended && !r.Tainted && !r.Guest:
		return Decision{Verdict: Allow, Rule: "exec, read-only command, clean", Reason: "you asked for it, and it only looks"}
	case listed && r.Tainted:
		return ask("exec, tainted", "it runs a program, and text from outside is part of this conversation")
	case listed:
		return ask("exec, unattended", "it runs a program without your having asked for it just now")
	}
	return ask("exec", "it runs a program")
}

func ask(rule, reason string) Decision { return Decision{Verdict: Ask, Rule: rule, Reason: reason} }
