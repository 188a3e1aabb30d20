package offline

import (
	"regexp"
	"strings"

	"hob/channels"
	"hob/platform/text/lazyregexp"
	"hob/watchers"
)

// source is a watcher for a source other than files, while it is being built.
type source struct {
	w      *intentDraft
	kind   string
	config map[string]any
	pace   cadence
	action string
}

func (w *intentDraft) newSource(subject watchers.Subject) *source {
	return &source{w: w, kind: w.g.kinds[subject], config: map[string]any{}}
}

// parseTail parses the rest of the sentence. It returns false if the rest contains more than a
// cadence.
func (v *source) parseTail() bool {
	c, ok := v.w.captureOf("tail")
	if !ok {
		return true
	}
	p, fine := parsePace(v.w.s.normalizedText(c.from, c.to))
	if !fine {
		return v.cutTelling()
	}
	v.pace = p
	return true
}

// cutTelling reports whether the tail only requests a notification ("and tell me"), which is the
// default action.
func (v *source) cutTelling() bool {
	c, _ := v.w.captureOf("tail")
	slots, ok := v.w.tryEdge("suffix.watch.tell", c)
	_, more := slots["rest"]
	return ok && !more
}

// freeText returns the text of a slot. It removes a cadence and a notification request from the
// end.
func (v *source) freeText(name string) string {
	c, ok := v.w.captureOf(name)
	if !ok {
		return ""
	}
	to, p := v.w.cutPace(c)
	if !p.isEmpty() {
		v.pace = p
	}
	c.to = to
	if slots, ok := v.w.tryEdge("suffix.watch.tell", c); ok {
		if rest, some := slots["rest"]; some {
			c.to = rest.to
		}
	}
	return strings.TrimSpace(v.w.s.originalText(c.from, c.to))
}

// splitNames splits a list of names such as "launch or rollout".
func splitNames(s string, and bool) []any {
	form := `\s*,?\s+or\s+|\s*,\s*`
	if and {
		form = `\s*,?\s+(?:or|and)\s+|\s*,\s*`
	}
	var out []any
	for _, part := range regexp.MustCompile(form).Split(s, -1) {
		part = strings.TrimSpace(strings.Trim(bareName(part), `"'“”‘’`))
		for _, head := range []string{"the words ", "the word ", "words ", "word ", "anything about ", "something about "} {
			part = strings.TrimPrefix(part, head)
		}
		if part = strings.Trim(bareName(part), `"'“”‘’`); part != "" {
			out = append(out, part)
		}
	}
	return out
}

// parsePeople returns the named people. "Ada's" gives Ada, and "the bank" gives bank.
func (g *grammar) parsePeople(s string) []any {
	var out []any
	for _, p := range splitNames(s, true) {
		name := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(p.(string), "'s"), "’s"), "'")
		if !g.isUnspecific(name) {
			out = append(out, name)
		}
	}
	return out
}

// isNobody reports whether a word such as "someone" or "it" names no specific person.
func isNobody(s string) bool {
	switch strings.ToLower(strings.TrimSpace(s)) {
	case "someone", "anyone", "somebody", "anybody", "people", "everyone", "everybody", "who", "it", "he", "she", "they", "i", "you", "we", "something", "anything", "there":
		return true
	}
	return false
}

func (v *source) buildPlan() (plan, bool) {
	if v.kind == "" {
		return noPlan()
	}
	v.pace.addToConfig(v.config)
	return planCall("create_watcher", argsOf("kind", v.kind, "config", v.config, "action", v.action))
}

// setWords sets the words that must occur in an item.
func (v *source) setWords() bool {
	if !v.w.hasSlot("text") {
		return true
	}
	text := v.freeText("text")
	if text == "" { // the text contained only a cadence
		return !v.pace.isEmpty()
	}
	words := splitNames(text, false)
	if len(words) == 0 || len(words) == 1 && v.w.g.isUnspecific(words[0].(string)) {
		return false
	}
	v.config["words"] = words
	return true
}

// setAction sets the action to run in addition to the notification.
func (v *source) setAction() (plan, bool) {
	c, ok := v.w.captureOf("action")
	if !ok {
		return plan{}, true
	}
	if slots, ok := v.w.tryEdge("suffix.watch.tell", c); ok {
		if _, more := slots["rest"]; !more {
			return plan{}, true
		}
	}
	made := watching{config: v.config}
	out, fine := made.setAction(v.w, c)
	v.action = made.action
	return out, fine
}

func watchMail(w *intentDraft) (plan, bool) {
	if !w.noLead() || w.isNegated() {
		return noPlan()
	}
	v := w.newSource(watchers.Mail)
	if who := v.freeText("few_who"); who != "" && !isNobody(who) {
		from := w.g.parsePeople(who)
		if len(from) == 0 {
			return noPlan()
		}
		v.config["from"] = from
	}
	if !v.setWords() || !v.parseTail() {
		return noPlan()
	}
	if out, fine := v.setAction(); !fine {
		return out, out.outcome != 0
	}
	return v.buildPlan()
}

// Suffixes of message searches that name a place.
var (
	anyChat  = lazyregexp.New(`(?i)\s+(?:in|on) (?:any|all|every|the|my|all my|any of my|whatever) ?(?:chat|chats|channel|channels|group|groups|conversation|conversations|messages)$|\s+anywhere$`)
	thisChat = lazyregexp.New(`(?i)\s+in (?:the|my|our) (.{1,40}?) (?:chat|channel|group|group chat|conversation)$`)
)

// onOthers lists the platforms that a request may name although Hob has no channel for them.
const onOthers = "whatsapp|signal|sms|matrix|irc|teams|messenger|wechat"

// formatChannelForm returns a pattern for the suffix that names a channel, "on NAME".
func formatChannelForm(known []channels.Description) *regexp.Regexp {
	names := onOthers
	for _, c := range known {
		names += "|" + regexp.QuoteMeta(c.Name)
	}
	return regexp.MustCompile(`(?i)\s+on (` + names + `)$`)
}

// cutPlace removes the place from the end of s.
func (v *source) cutPlace(s string) string {
	s = " " + s
	if m := anyChat.FindString(s); m != "" {
		return strings.TrimSpace(strings.TrimSuffix(s, m))
	}
	if m := thisChat.FindStringSubmatch(s); m != nil {
		v.config["chat"] = []any{m[1]}
		return strings.TrimSpace(strings.TrimSuffix(s, m[0]))
	}
	if m := v.w.g.channelForm.FindStringSubmatch(s); m != nil {
		v.config["channel"] = []any{strings.ToLower(m[1])}
		return strings.TrimSpace(strings.TrimSuffix(s, m[0]))
	}
	return strings.TrimSpace(s)
}

func watchMessage(w *intentDraft) (plan, bool) {
	if !w.noLead() || w.isNegated() {
		return noPlan()
	}
	v := w.newSource(watchers.Messages)
	who := v.freeText("few_who")
	switch {
	case w.hasSlot("who"), who != "" && isNobody(who):
		if low := strings.ToLower(who); low == "i" || low == "you" || low == "it" {
			return noPlan()
		}
		v.config["own"] = false
	case who != "":
		from := w.g.parsePeople(v.cutPlace(who))
		if len(from) == 0 {
			return noPlan()
		}
		v.config["from"] = from
	}
	for _, slot := range []string{"chat", "few_chat"} {
		if c, ok := w.captureOf(slot); ok {
			word := "in "
			if c.from > 0 && w.s.normalizedText(c.from-1, c.from) == "on" {
				word = "on "
			}
			if left := v.cutPlace(word + v.freeText(slot)); left != "" {
				return noPlan()
			}
		}
	}
	if w.hasSlot("text") {
		words := splitNames(v.cutPlace(v.freeText("text")), false)
		if len(words) == 0 || len(words) == 1 && w.g.isUnspecific(words[0].(string)) {
			return noPlan()
		}
		v.config["words"] = words
	}
	if !v.parseTail() || v.config["from"] == nil && v.config["words"] == nil {
		return noPlan()
	}
	return v.buildPlan()
}

func watchFeed(w *intentDraft) (plan, bool) {
	v := w.newSource(watchers.Feed)
	v.config["url"] = w.pathOf("link")
	if !w.noLead() || !v.setWords() || !v.parseTail() {
		return noPlan()
	}
	return v.buildPlan()
}

// feedLike matches addresses that look like feeds.
var feedLike = lazyregexp.New(`(?i)(\.xml|\.rss|\.atom|/feed|/feed/|/rss|/rss/|/atom|feed\.json)$|^feed:`)

func watchPage(w *intentDraft) (plan, bool) {
	v := w.newSource(watchers.Page)
	address := w.pathOf("link")
	if feedLike.MatchString(address) {
		v.kind = w.g.kinds[watchers.Feed]
	} else if t := (token{kind: link, inner: address, norm: strings.ToLower(address)}); strings.Contains(address, "://") {
		if repo, ok := t.repositoryOf(w.g.site); ok {
			v.kind, v.config["repo"] = w.g.kinds[watchers.Repository], repo
		}
	}
	if v.config["repo"] == nil {
		v.config["url"] = address
	}
	if !w.noLead() || !v.setWords() || !v.parseTail() {
		return noPlan()
	}
	return v.buildPlan()
}

// repositoryItems returns which parts of a repository are requested.
func repositoryItems(s string) (what []any, ok bool) {
	names := map[string]string{
		"issue": "issues", "issues": "issues", "bug": "issues", "bugs": "issues", "bug reports": "issues", "pull request": "pulls", "pull requests": "pulls", "pr": "pulls", "prs": "pulls", "pulls": "pulls", "merge requests": "pulls",
		"release": "releases", "releases": "releases", "version": "releases", "versions": "releases", "new version": "releases", "build": "runs", "builds": "runs", "run": "runs", "runs": "runs", "workflow runs": "runs",
		"failure": "failures", "failures": "failures", "failed builds": "failures", "failing builds": "failures", "build failures": "failures", "ci failures": "failures", "broken builds": "failures", "failed runs": "failures",
		"event": "events", "events": "events", "everything": "events", "activity": "events", "anything": "events", "anything new": "events", "all activity": "events", "news": "events",
	}
	for _, p := range splitNames(strings.ToLower(s), true) {
		word := strings.TrimPrefix(p.(string), "new ")
		n, known := names[p.(string)]
		if !known {
			n, known = names[word]
		}
		if !known {
			return nil, false
		}
		what = append(what, n)
	}
	return what, len(what) > 0
}

func watchRepository(w *intentDraft) (plan, bool) {
	v := w.newSource(watchers.Repository)
	v.config["repo"] = w.pathOf("repo")
	if w.hasSlot("ci") {
		v.config["what"] = []any{"failures"}
	} else if w.hasSlot("few_what") {
		what, ok := repositoryItems(v.freeText("few_what"))
		if !ok {
			return noPlan()
		}
		v.config["what"] = what
	}
	if !w.noLead() || !v.setWords() || !v.parseTail() {
		return noPlan()
	}
	return v.buildPlan()
}

// watchWhere asks for the address of a web source if none was given.
func watchWhere(w *intentDraft) (plan, bool) {
	for _, t := range w.s.tokens {
		switch t.norm {
		case "repo", "repository":
			return planQuestion("Which repository, for example owner/name?", fillBetween("watch the repo", ""))
		case "feed", "blog":
			return planQuestion("What is the address of the feed?", fillBetween("watch the feed", ""))
		}
	}
	return planQuestion("What is the address of the page?", fillBetween("watch the page", ""))
}
