package offline

import (
	"slices"
	"strings"

	"hob/watchers"
)

func watchBuilders() map[string]builder {
	return map[string]builder{
		"watch.mail":       watchMail,
		"watch.message":    watchMessage,
		"watch.calendar":   watchCalendar,
		"watch.feed":       watchFeed,
		"watch.page":       watchPage,
		"watch.repository": watchRepository,
		"watch.unclear":    watchWhere,
		"watch.muted":      cancelWatcher,
		"watch.change":     changeWatcher,
		"watch.pace":       paceLast,
		"watch.add":        addWatcher,
		"watch.add.none":   askWatch,
		"watch.list":       func(w *intentDraft) (plan, bool) { return planCall("list_watchers", nil) },
		"watch.cancel":     cancelWatcher,
		"watch.cancel.none": func(*intentDraft) (plan, bool) {
			return planQuestion("What should I stop watching?", fillBetween("stop watching", ""))
		},
		"watch.pause":  func(w *intentDraft) (plan, bool) { return pauseWatcher(w, false) },
		"watch.resume": func(w *intentDraft) (plan, bool) { return pauseWatcher(w, true) },
	}
}

func askWatch(w *intentDraft) (plan, bool) {
	kind := w.slotString("kind")
	return planQuestion("Which folder or file, for example ~/Downloads?", func(answer string) (string, bool) {
		if kind == "" {
			return "watch " + answer, answer != ""
		}
		return "watch " + answer + " for " + kind + " files", answer != ""
	})
}

// watching is a file watcher, while it is being built.
type watching struct {
	config map[string]any
	action string
	// unknownKind is the requested item if it is not a kind of file.
	unknownKind string
}

func addWatcher(w *intentDraft) (plan, bool) {
	if !w.noLead() {
		return noPlan()
	}
	for _, slot := range []string{"kind", "who"} {
		c, ok := w.captureOf(slot)
		if ok && (w.s.hasWordOf(c.from, c.to, "anchors", "negations", "weekdays") || slot == "who" && c.to-c.from > 1 && !w.g.lex.containsWord("owned-starts", w.s.firstWord(c.from))) {
			return noPlan()
		}
	}
	p := w.pathOf("path")
	v := watching{config: map[string]any{"path": p}}
	if !isFile(p, w.g.lex) || w.hasSlot("kind") {
		if kind := w.slotNorm("kind"); kind != "" && !v.setKind(w, kind) {
			return w.whichFiles(p, w.slotString("kind"))
		}
	}
	if events := w.eventSaid(); len(events) > 0 {
		v.config["events"] = events
	}
	if c, ok := w.captureOf("tail"); ok && !v.parseTail(w, c) {
		if v.unknownKind != "" {
			return w.whichFiles(p, v.unknownKind)
		}
		return w.watchUnclear(p)
	}
	if c, ok := w.captureOf("action"); ok {
		if out, fine := v.setAction(w, c); !fine {
			return out, out.outcome != 0
		}
	}
	return planCall("create_watcher", argsOf("kind", w.g.kinds[watchers.Folder], "config", v.config, "action", v.action))
}

func (w *intentDraft) watchUnclear(p string) (plan, bool) {
	return planRefusal("I can watch " + p + " and notify you, or run an action that I support, but I do not understand " +
		quoteText(w.slotString("tail")) + ". For example: " + quoteText("watch "+p+" for PDF files and tell me") + ".")
}

// whichFiles asks which files the user means, because Hob cannot recognize "an invoice" by its file
// name.
func (w *intentDraft) whichFiles(p, kind string) (plan, bool) {
	return planQuestion("I recognize files only by name and kind, and cannot distinguish "+quoteText(kind)+
		" from others. Which files in "+p+", for example PDF files or *invoice*?", func(answer string) (string, bool) {
		return "watch " + quotePath(p) + " for " + strings.TrimPrefix(answer, "for "), answer != ""
	})
}

// setKind restricts the watcher to a kind of file. "a new ..." means only new files.
func (v *watching) setKind(w *intentDraft, words string) bool {
	glob, ok := w.fileGlob(words)
	if !ok {
		return false
	}
	if glob != "" {
		v.config["pattern"] = glob
	}
	for _, f := range strings.Fields(words) {
		if f == "new" {
			v.config["events"] = []string{"created"}
		}
	}
	return true
}

// eventSaid maps the verb in "when a file appears" to events. "change" means any event. If there is
// no verb, the watcher's default applies.
func (w *intentDraft) eventSaid() []string {
	said := strings.Fields(w.slotNorm("event"))
	if w.hasSlot("who") {
		for _, t := range w.s.tokens {
			said = append(said, t.norm)
		}
	}
	return w.eventsNamed(said)
}

// eventsNamed returns the events named by words.
func (w *intentDraft) eventsNamed(said []string) []string {
	found := ""
	for _, f := range said {
		if event, ok := w.g.lex.meaningOf("events", f); ok {
			found = event
		}
	}
	switch found {
	case "":
		return nil
	case "any":
		return []string{"created", "modified", "removed"}
	}
	return []string{found}
}

// parseTail parses the text after the path, such as "for PDF files and tell me", "recursively" or
// "and add a task to file it".
func (v *watching) parseTail(w *intentDraft, c capture) bool {
	if slots, ok := w.tryEdge("suffix.watch.about", c); ok && v.setNarrowed(w, slots) {
		return true
	}
	for range 4 {
		if slots, ok := w.tryEdge("suffix.watch.deep", c); ok {
			v.config["recursive"] = true
			if after, some := slots["after"]; some {
				c.from = after.from
				continue
			}
			rest, some := slots["rest"]
			if !some {
				return true
			}
			c.to = rest.to
			continue
		}
		if slots, ok := w.tryEdge("suffix.watch.tell", c); ok {
			b, some := slots["rest_b"]
			if some && !w.namesEvents(b) {
				return false
			}
			if some && v.config["events"] == nil {
				if events := w.eventsNamed(strings.Fields(w.s.normalizedText(b.from, b.to))); events != nil {
					v.config["events"] = events
				}
			}
			rest, some := slots["rest"]
			if !some {
				return true
			}
			c.to = rest.to
			continue
		}
		break
	}
	if slots, ok := w.tryEdge("suffix.watch.for", c); ok {
		if !v.setThings(w, slots) {
			return false
		}
		if a, some := slots["action"]; some {
			_, fine := v.setAction(w, a)
			return fine
		}
		return true
	}
	if slots, ok := w.tryEdge("suffix.watch.do", c); ok {
		if _, some := slots["kind"]; some && !v.setNarrowed(w, slots) {
			return false
		}
		_, fine := v.setAction(w, slots["action"])
		return fine
	}
	return false
}

// namesEvents reports whether text such as "anything changes" consists only of events and words for any file.
func (w *intentDraft) namesEvents(c capture) bool {
	return !slices.ContainsFunc(w.s.tokens[c.from:c.to], func(t token) bool {
		_, event := w.g.lex.meaningOf("events", t.norm)
		return t.kind == word && !event && !w.g.lex.containsWord("kind-noise", t.norm) && !w.g.lex.containsWord("auxiliaries", t.norm) && !w.g.lex.containsWord("event-noise", t.norm)
	})
}

// setNarrowed sets the kind and the event from text such as "when a CSV arrives".
func (v *watching) setNarrowed(w *intentDraft, slots map[string]capture) bool {
	c := slots["kind"]
	if !v.setKind(w, w.s.normalizedText(c.from, c.to)) {
		return false
	}
	if e, ok := slots["event"]; ok {
		if events := w.eventsNamed(strings.Fields(w.s.normalizedText(e.from, e.to))); events != nil {
			v.config["events"] = events
		}
	}
	return true
}

// setThings sets the kind and the event from text such as "for new PDF files" or "for changes".
func (v *watching) setThings(w *intentDraft, slots map[string]capture) bool {
	c := slots["kind"]
	switch words := w.s.normalizedText(c.from, c.to); words {
	case "changes", "change", "any changes", "any change", "activity", "anything", "everything", "me", "anything new":
		switch words {
		case "anything new":
			v.config["events"] = []string{"created"}
		case "me", "everything", "anything":
		default:
			v.config["events"] = []string{"created", "modified", "removed"}
		}
		return true
	case "modifications", "edits", "updates":
		v.config["events"] = []string{"modified"}
		return true
	case "deletions", "deleted files", "removed files", "removals":
		v.config["events"] = []string{"removed"}
		return true
	case "additions", "arrivals", "new arrivals", "downloads", "new downloads", "new ones":
		v.config["events"] = []string{"created"}
		return true
	default:
		for _, head := range []string{"changes to ", "changes in ", "any changes to ", "any changes in "} {
			if tail, ok := strings.CutPrefix(words, head); ok {
				v.config["events"] = []string{"created", "modified", "removed"}
				words = tail
			}
		}
		if !v.setKind(w, words) {
			v.unknownKind = w.s.originalText(c.from, c.to)
			return false
		}
		return true
	}
}

// setAction sets the action. The default is a notification.
func (v *watching) setAction(w *intentDraft, c capture) (plan, bool) {
	action := w.s.originalText(c.from, c.to)
	p := w.planInner(action)
	switch {
	case p.intent != nil && p.intent.name == "summarise":
		if strings.HasPrefix(strings.ToLower(action), "summar") {
			v.action = action
		}
		return p, true
	case len(p.calls) > 0:
		v.action = action
		return p, true
	}
	out, _ := planRefusal("I can watch it, but I do not understand the action: " + quoteText(action) + ". I can notify you, or do anything that you can also ask me directly.")
	return out, false
}

func cancelWatcher(w *intentDraft) (plan, bool) {
	name := w.watcherNamed()
	if w.g.isUnspecific(name) {
		return planQuestion("What should I stop watching?", fillBetween("stop watching", ""))
	}
	return planCall("cancel_watcher", argsOf("watcher", name))
}

// watcherNamed returns the words that identify a watcher: an address, or words from its
// description. "Ada's mails" matches "mail from Ada".
func (w *intentDraft) watcherNamed() string {
	if c, ok := w.captureOf("text"); ok && c.to-c.from > 1 && w.s.tokens[c.to-1].kind == path || w.g.lex.containsWord("condition-words", w.s.tokens[len(w.s.tokens)-1].norm) {
		return "" // "stop watching if ~/Downloads"
	}
	for _, slot := range []string{"path", "link", "repo"} {
		if s := w.pathOf(slot); s != "" {
			return s
		}
	}
	var out []string
	for f := range strings.FieldsSeq(bareName(w.slotString("text"))) {
		f = strings.TrimSuffix(strings.TrimSuffix(f, "'s"), "’s")
		switch strings.ToLower(f) {
		case "mails", "emails", "email", "e-mails", "e-mail":
			f = "mail"
		case "from", "about", "when", "me", "the", "if", "writes", "mentions", "someone":
			continue
		}
		out = append(out, f)
	}
	return strings.Join(out, " ")
}

func pauseWatcher(w *intentDraft, resume bool) (plan, bool) {
	name := w.watcherNamed()
	if w.g.isUnspecific(name) {
		verb := "pause"
		if resume {
			verb = "resume"
		}
		return planQuestion("Which watcher should I "+verb+"?", fillBetween(verb+" the watcher on", ""))
	}
	return planCall("pause_watcher", argsOf("watcher", name, "resume", resume))
}
