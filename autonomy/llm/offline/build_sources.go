package offline

import (
	"regexp"
	"strings"
)

// source is a watcher of a source other than files, under construction.
type source struct {
	w      *wish
	kind   string
	config map[string]any
	pace   paced
	action string
}

func (w *wish) source(kind string) *source {
	return &source{w: w, kind: kind, config: map[string]any{}}
}

// tail parses the following text; false if it is more than a pace.
func (v *source) tail() bool {
	c, ok := v.w.capture("tail")
	if !ok {
		return true
	}
	p, fine := parsePace(v.w.s.norms(c.from, c.to))
	if !fine {
		return v.telling()
	}
	v.pace = p
	return true
}

// telling: "and tell me" is the default action.
func (v *source) telling() bool {
	c, _ := v.w.capture("tail")
	slots, ok := v.w.edge("suffix.watch.tell", c)
	_, more := slots["rest"]
	return ok && !more
}

// free returns the text of a slot without a pace, a notification request, and a place at the
// end.
func (v *source) free(name string) string {
	c, ok := v.w.capture(name)
	if !ok {
		return ""
	}
	to, p := v.w.unpaced(c)
	if !p.empty() {
		v.pace = p
	}
	c.to = to
	if slots, ok := v.w.edge("suffix.watch.tell", c); ok {
		if rest, some := slots["rest"]; some {
			c.to = rest.to
		}
	}
	return strings.TrimSpace(v.w.s.original(c.from, c.to))
}

// list splits a list of names: "launch or rollout".
func list(s string, and bool) []any {
	form := `\s*,?\s+or\s+|\s*,\s*`
	if and {
		form = `\s*,?\s+(?:or|and)\s+|\s*,\s*`
	}
	var out []any
	for _, part := range regexp.MustCompile(form).Split(s, -1) {
		part = strings.TrimSpace(strings.Trim(bare(part), `"'“”‘’`))
		for _, head := range []string{"the words ", "the word ", "words ", "word ", "anything about ", "something about "} {
			part = strings.TrimPrefix(part, head)
		}
		if part = strings.Trim(bare(part), `"'“”‘’`); part != "" {
			out = append(out, part)
		}
	}
	return out
}

// people returns the named people: "Ada's" is Ada, "the bank" is bank.
func people(s string) []any {
	var out []any
	for _, p := range list(s, true) {
		name := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(p.(string), "'s"), "’s"), "'")
		if !anything(name) {
			out = append(out, name)
		}
	}
	return out
}

// nobody: words that name no specific person.
func nobody(s string) bool {
	switch strings.ToLower(strings.TrimSpace(s)) {
	case "someone", "anyone", "somebody", "anybody", "people", "everyone", "everybody", "who", "it", "he", "she", "they", "i", "you", "we", "something", "anything", "there":
		return true
	}
	return false
}

func (v *source) make() (plan, bool) {
	v.pace.into(v.config)
	return calling("create_watcher", arguments("kind", v.kind, "config", v.config, "action", v.action))
}

// words sets the words that must occur.
func (v *source) words() bool {
	if !v.w.has("text") {
		return true
	}
	text := v.free("text")
	if text == "" { // the text was only a pace
		return !v.pace.empty()
	}
	words := list(text, false)
	if len(words) == 0 || len(words) == 1 && anything(words[0].(string)) {
		return false
	}
	v.config["words"] = words
	return true
}

// act sets the action in addition to the notification.
func (v *source) act() (plan, bool) {
	c, ok := v.w.capture("action")
	if !ok {
		return plan{}, true
	}
	if slots, ok := v.w.edge("suffix.watch.tell", c); ok {
		if _, more := slots["rest"]; !more {
			return plan{}, true
		}
	}
	made := watching{config: v.config}
	out, fine := made.act(v.w, c)
	v.action = made.action
	return out, fine
}

func watchMail(w *wish) (plan, bool) {
	if !w.noLead() || w.negated() {
		return not()
	}
	v := w.source("email")
	if who := v.free("few_who"); who != "" && !nobody(who) {
		from := people(who)
		if len(from) == 0 {
			return not()
		}
		v.config["from"] = from
	}
	if !v.words() || !v.tail() {
		return not()
	}
	if out, fine := v.act(); !fine {
		return out, out.outcome != 0
	}
	return v.make()
}

// Suffixes of message searches that name a place.
const (
	anyChat  = `(?i)\s+(?:in|on) (?:any|all|every|the|my|all my|any of my|whatever) ?(?:chat|chats|channel|channels|group|groups|conversation|conversations|messages)$|\s+anywhere$`
	thisChat = `(?i)\s+in (?:the|my|our) (.{1,40}?) (?:chat|channel|group|group chat|conversation)$`
	onSystem = `(?i)\s+on (telegram|slack|discord|whatsapp|signal|imessage|sms|matrix|irc|teams|messenger|wechat)$`
)

// place removes the place from the end of a text.
func (v *source) place(s string) string {
	s = " " + s
	if m := regexp.MustCompile(anyChat).FindString(s); m != "" {
		return strings.TrimSpace(strings.TrimSuffix(s, m))
	}
	if m := regexp.MustCompile(thisChat).FindStringSubmatch(s); m != nil {
		v.config["chat"] = []any{m[1]}
		return strings.TrimSpace(strings.TrimSuffix(s, m[0]))
	}
	if m := regexp.MustCompile(onSystem).FindStringSubmatch(s); m != nil {
		v.config["channel"] = []any{strings.ToLower(m[1])}
		return strings.TrimSpace(strings.TrimSuffix(s, m[0]))
	}
	return strings.TrimSpace(s)
}

func watchMessage(w *wish) (plan, bool) {
	if !w.noLead() || w.negated() {
		return not()
	}
	v := w.source("message")
	who := v.free("few_who")
	switch {
	case w.has("who"), who != "" && nobody(who):
		if low := strings.ToLower(who); low == "i" || low == "you" || low == "it" {
			return not()
		}
		v.config["own"] = false
	case who != "":
		from := people(v.place(who))
		if len(from) == 0 {
			return not()
		}
		v.config["from"] = from
	}
	for _, slot := range []string{"chat", "few_chat"} {
		if c, ok := w.capture(slot); ok {
			word := "in "
			if c.from > 0 && w.s.norms(c.from-1, c.from) == "on" {
				word = "on "
			}
			if left := v.place(word + v.free(slot)); left != "" {
				return not()
			}
		}
	}
	if w.has("text") {
		words := list(v.place(v.free("text")), false)
		if len(words) == 0 || len(words) == 1 && anything(words[0].(string)) {
			return not()
		}
		v.config["words"] = words
	}
	if !v.tail() || v.config["from"] == nil && v.config["words"] == nil {
		return not()
	}
	return v.make()
}

func watchFeed(w *wish) (plan, bool) {
	v := w.source("feed")
	v.config["url"] = w.path("link")
	if !w.noLead() || !v.words() || !v.tail() {
		return not()
	}
	return v.make()
}

// feedLike matches addresses of feeds.
const feedLike = `(?i)(\.xml|\.rss|\.atom|/feed|/feed/|/rss|/rss/|/atom|feed\.json)$|^feed:`

func watchPage(w *wish) (plan, bool) {
	v := w.source("page")
	address := w.path("link")
	if regexp.MustCompile(feedLike).MatchString(address) {
		v.kind = "feed"
	} else if t := (token{kind: link, inner: address, norm: strings.ToLower(address)}); strings.Contains(address, "://") {
		if repo, ok := t.repository(); ok {
			v.kind, v.config["repo"] = "github", repo
		}
	}
	if v.kind != "github" {
		v.config["url"] = address
	}
	if !w.noLead() || !v.words() || !v.tail() {
		return not()
	}
	return v.make()
}

// items returns the requested parts of a repository.
func items(s string) (what []any, ok bool) {
	names := map[string]string{
		"issue": "issues", "issues": "issues", "bug": "issues", "bugs": "issues", "bug reports": "issues", "pull request": "pulls", "pull requests": "pulls", "pr": "pulls", "prs": "pulls", "pulls": "pulls", "merge requests": "pulls",
		"release": "releases", "releases": "releases", "version": "releases", "versions": "releases", "new version": "releases", "build": "runs", "builds": "runs", "run": "runs", "runs": "runs", "workflow runs": "runs",
		"failure": "failures", "failures": "failures", "failed builds": "failures", "failing builds": "failures", "build failures": "failures", "ci failures": "failures", "broken builds": "failures", "failed runs": "failures",
		"event": "events", "events": "events", "everything": "events", "activity": "events", "anything": "events", "anything new": "events", "all activity": "events", "news": "events",
	}
	for _, p := range list(strings.ToLower(s), true) {
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

func watchGithub(w *wish) (plan, bool) {
	v := w.source("github")
	v.config["repo"] = w.path("repo")
	if w.has("ci") {
		v.config["what"] = []any{"failures"}
	} else if w.has("few_what") {
		what, ok := items(v.free("few_what"))
		if !ok {
			return not()
		}
		v.config["what"] = what
	}
	if !w.noLead() || !v.words() || !v.tail() {
		return not()
	}
	return v.make()
}

// watchWhere asks for the address of an unnamed web source.
func watchWhere(w *wish) (plan, bool) {
	for _, t := range w.s.tokens {
		switch t.norm {
		case "repo", "repository":
			return asking("Which repository, for example owner/name?", fill("watch the repo", ""))
		case "feed", "blog":
			return asking("What is the address of the feed?", fill("watch the feed", ""))
		}
	}
	return asking("What is the address of the page?", fill("watch the page", ""))
}
