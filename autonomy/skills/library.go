package skills

import (
	"cmp"
	"context"
	_ "embed" // embeds the texts for models
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"hob/autonomy/api"
	"hob/autonomy/turn/prompt"
	"hob/platform/host/system"
	"hob/platform/provenance"
	"hob/platform/text/minitmpl"
	"hob/platform/text/sorting"
	"hob/platform/text/textnorm"
	"hob/templates"
	"hob/tools"
)

//go:embed text.tmpl
var modelTexts string

// Similarity compares texts by meaning. *embed.Vectors implements it.
type Similarity interface {
	// Similarities returns the cosine similarity of the query with each text.
	Similarities(ctx context.Context, query string, texts []string) ([]float32, error)
}

// Options holds the options of New. Dir and Trust are required.
type Options struct {
	Dir       string // HOB_HOME/skills
	Trust     string // path of the file with the trusted digests
	Templates string // folder in which the templates keep their state, "" for none
	// Similar finds skills by meaning if no trigger and no words match. Nil disables that.
	Similar Similarity
	// Remote returns the prompts of MCP servers from memory, without waiting. It may be nil.
	Remote func() []tools.Prompt
	Log    *slog.Logger
}

// Limits of what a model reads.
const (
	maxSkills   = 200
	maxMatching = 2     // skills per message
	maxIndex    = 1_200 // bytes of the index: 300 tokens
	maxLine     = 160   // characters of a description in the index
	maxShown    = 5_400 // bytes of a body in a message; use_skill returns the rest
	maxListed   = 30    // files
)

// rescanAfter is the minimum interval between two comparisons of the files of known skills. Added,
// removed and trusted skills are detected immediately.
const rescanAfter = 500 * time.Millisecond

// Library holds the skills that a model can use. It follows changes of the files while Hob runs. Its
// methods may be called concurrently.
type Library struct {
	o     Options
	texts *minitmpl.Template

	mu       sync.Mutex
	scanned  time.Time
	top      fileStamp // of Dir
	trust    fileStamp
	template fileStamp
	folders  map[string]loadedFolder
	active   []*Skill          // skills of the template
	list     []*Skill          // all skills, sorted by name
	reported map[string]string // problems in the log
}

// fileStamp changes when a file or the list of a folder's entries changes.
type fileStamp struct {
	at   time.Time
	size int64
}

// loadedFolder is a folder as it was read last.
type loadedFolder struct {
	stamp uint64
	skill *Skill
}

// New returns the library. It does no I/O.
func New(o Options) *Library {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Library{o: o, texts: minitmpl.Must(minitmpl.Parse(modelTexts)), reported: map[string]string{}, folders: map[string]loadedFolder{}}
}

// Open returns the library of a home.
func Open(p system.Paths, similar Similarity, remote func() []tools.Prompt, log *slog.Logger) *Library {
	return New(Options{Dir: p.SkillsDir(), Trust: p.SkillTrustFile(), Templates: p.TemplateState(), Similar: similar, Remote: remote, Log: log})
}

// currentSkills returns the current skills, sorted by name. The caller must not change them.
func (l *Library) currentSkills() []*Skill {
	remote := l.remoteSkills() // called without the lock
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refreshSkills()
	if len(remote) == 0 {
		return l.list
	}
	list := slices.Clone(l.list)
	for _, s := range remote {
		if !slices.ContainsFunc(list, func(o *Skill) bool { return o.Name == s.Name }) {
			list = append(list, s)
		}
	}
	sorting.ByFunc(list, func(a, b *Skill) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// findUsable returns a usable skill.
func (l *Library) findUsable(name string) (*Skill, bool) {
	for _, s := range l.currentSkills() {
		if s.Name == name && s.isUsable() {
			return s, true
		}
	}
	return nil, false
}

// List returns all skills, including those that a model cannot use, sorted by name.
func (l *Library) List() []Skill {
	var out []Skill
	for _, s := range l.currentSkills() {
		out = append(out, *s)
	}
	return out
}

// Get returns a skill by name. It returns ErrNotFound if there is none.
func (l *Library) Get(name string) (Skill, error) {
	for _, s := range l.currentSkills() {
		if s.Name == name {
			return *s, nil
		}
	}
	return Skill{}, fmt.Errorf("%w: %s; list them with: hob skill list", ErrNotFound, shortValue(name))
}

// Body returns the complete instructions of a skill with their provenance.
func (l *Library) Body(ctx context.Context, name string) (string, provenance.Source, error) {
	s, ok := l.findUsable(name)
	if !ok {
		return "", provenance.Hob, fmt.Errorf("%w: %s; list them with: hob skill list", ErrNotFound, shortValue(name))
	}
	text, err := l.bodyOf(ctx, s)
	return text, s.Source(), err
}

// Skills implements api.Skills.
func (l *Library) Skills(context.Context) ([]api.Skill, error) {
	var out []api.Skill
	for _, s := range l.List() {
		out = append(out, api.Skill{
			Name: s.Name, Description: s.Description, State: s.State, Problem: s.Problem, Origin: s.Origin, From: s.From, TrustedAt: s.Added,
		})
	}
	return out, nil
}

// SkillPrompts implements service.SkillPrompts: the trusted skills that MCP clients may read.
func (l *Library) SkillPrompts(context.Context) ([]api.SkillPrompt, error) {
	out := []api.SkillPrompt{}
	for _, s := range l.currentSkills() {
		if s.Trusted() {
			out = append(out, api.SkillPrompt{Name: s.Name, Description: s.Description})
		}
	}
	return out, nil
}

// SkillPrompt implements service.SkillPrompts.
func (l *Library) SkillPrompt(ctx context.Context, name string) (api.SkillPrompt, error) {
	s, ok := l.findUsable(name)
	if !ok || !s.Trusted() {
		return api.SkillPrompt{}, fmt.Errorf("skill %q: %w", shortValue(name), api.ErrNotFound)
	}
	return api.SkillPrompt{Name: s.Name, Description: s.Description, Text: s.text}, ctx.Err() // omit the folder, which a client cannot read
}

// bodyOf returns the instructions of a skill and the list of its files.
func (l *Library) bodyOf(ctx context.Context, s *Skill) (string, error) {
	text := s.text
	if s.load != nil {
		var err error
		if text, err = s.load(ctx); err != nil {
			return "", fmt.Errorf("skill %s: load the instructions: %w", s.Name, err)
		}
		text = textnorm.TruncateRunes(strings.ToValidUTF8(text, "\uFFFD"), maxManifest)
	}
	if strings.TrimSpace(text) == "" {
		text = l.renderText("empty", nil)
	}
	return text + l.fileList(s), nil
}

// fileList returns the sentence about the other files of a skill, or "".
func (l *Library) fileList(s *Skill) string {
	if len(s.Files) == 0 {
		return ""
	}
	var names []string
	for _, f := range s.Files[:min(len(s.Files), maxListed)] {
		names = append(names, f.Path)
	}
	if n := len(s.Files) - maxListed; n > 0 {
		names = append(names, fmt.Sprintf("and %d more", n))
	}
	return l.renderText("files", map[string]string{"Name": s.Name, "Dir": s.Dir, "List": strings.Join(names, ", ")})
}

func (l *Library) renderText(name string, data any) string {
	var b strings.Builder
	if err := l.texts.ExecuteTemplate(&b, name, data); err != nil {
		panic(err) // the templates are embedded
	}
	return b.String()
}

// remoteSkills returns the prompts of MCP servers. Models find them by search and load them with
// use_skill; their text is always untrusted. Prompts with an unusual name are left out.
func (l *Library) remoteSkills() (out []*Skill) {
	if l.o.Remote == nil {
		return nil
	}
	for _, r := range l.o.Remote() {
		if r.Load == nil || r.Name == "" || len(r.Name) > 2*maxName || len(out) >= maxSkills || strings.ContainsFunc(r.Name, func(c rune) bool {
			return c != '-' && c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z')
		}) {
			continue
		}
		out = append(out, &Skill{
			Manifest: Manifest{Name: r.Name, Description: textnorm.TruncateRunes(shortenSpaces(r.Description), maxDescription)},
			Origin:   FromMCP, From: r.Server, State: StateUntrusted, load: r.Load,
		})
	}
	return out
}

// shortenSpaces returns s in one line without invisible characters.
func shortenSpaces(s string) string {
	return strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " ")
}

// Index implements prompt.Skills: the trusted skills with their descriptions, at most 300 tokens.
// Untrusted text must not stand above the conversation, because text there never counts as untrusted.
func (l *Library) Index() string {
	var lines []string
	size := len(l.renderText("index", map[string]any{"More": 1000}))
	more := 0
	for _, s := range l.currentSkills() {
		if !s.Trusted() {
			continue
		}
		line := "- " + s.Name + ": " + textnorm.Ellipsize(s.Description, maxLine)
		if size += len(line) + 1; size > maxIndex {
			more++
			continue
		}
		lines = append(lines, line)
	}
	if len(lines) == 0 {
		return ""
	}
	return l.renderText("index", map[string]any{"Lines": lines, "More": more})
}

// Matching implements prompt.Skills. A skill matches by a trigger, by words of its name and
// description, or else by meaning.
func (l *Library) Matching(ctx context.Context, text string) ([]prompt.Note, error) {
	type match struct {
		*Skill
		score int
	}
	var found []match
	var local []*Skill
	words := triggerWords(text)
	for _, s := range l.currentSkills() {
		if !s.isUsable() || s.load != nil {
			continue
		}
		local = append(local, s)
		if n := s.scoreMatch(text, words); n > 0 {
			found = append(found, match{s, n})
		}
	}
	sorting.StableByFunc(found, func(a, b match) int { return cmp.Compare(b.score, a.score) })
	if len(found) == 0 {
		if s := l.nearestSkill(ctx, text, local); s != nil {
			found = append(found, match{s, 1})
		}
	}
	var out []prompt.Note
	for _, f := range found[:min(len(found), maxMatching)] {
		out = append(out, l.noteOf(f.Skill))
	}
	return out, nil
}

// noteOf returns the skill in the form in which it is added to a message.
func (l *Library) noteOf(s *Skill) prompt.Note {
	text, files := s.text, l.fileList(s)
	if len(text)+len(files) > maxShown {
		cut := l.renderText("cut", map[string]string{"Name": s.Name})
		text = strings.ToValidUTF8(text[:max(0, min(len(text), maxShown-len(files)-len(cut)))], "") + cut
	}
	return prompt.Note{ID: s.Name, Title: s.Name, Text: text + files, Source: s.Source()}
}

// triggered is the score of a trigger, which is more than any number of words.
const triggered = 1_000

// scoreMatch returns how well the skill matches a message, 0 if it does not.
func (s *Skill) scoreMatch(text string, words []string) int {
	n := templates.Skill{Name: s.Name, Description: s.Description}.Fits(text)
	for _, t := range s.Triggers {
		if containsRun(words, triggerWords(t)) {
			return triggered + n
		}
	}
	return n
}

// triggerWords splits a text into words for triggers.
func triggerWords(text string) []string { return textnorm.FoldedWords(text) }

// containsRun reports whether the words of run occur in words, one after another.
func containsRun(words, run []string) bool {
	if len(run) == 0 {
		return false
	}
	for i := 0; i+len(run) <= len(words); i++ {
		if slices.Equal(words[i:i+len(run)], run) {
			return true
		}
	}
	return false
}

// A skill matches by meaning if the similarity is at least minSimilarity, and by minLead higher than
// the average of the other skills, because embedders differ in how similar unrelated texts are.
const (
	minSimilarity = 0.55
	minLead       = 0.1
)

// nearestSkill returns the trusted skill that is nearest in meaning, or nil.
func (l *Library) nearestSkill(ctx context.Context, text string, list []*Skill) *Skill {
	list = slices.DeleteFunc(slices.Clone(list), func(s *Skill) bool { return !s.Trusted() })
	if l.o.Similar == nil || len(list) == 0 || strings.TrimSpace(text) == "" {
		return nil
	}
	texts := make([]string, len(list))
	for i, s := range list {
		texts[i] = s.Name + ": " + s.Description
	}
	near, err := l.o.Similar.Similarities(ctx, text, texts)
	if err != nil || len(near) != len(list) {
		l.o.Log.Debug("skills not compared by meaning", "err", err)
		return nil
	}
	best, sum := 0, float32(0)
	for i, n := range near {
		sum += n
		if n > near[best] {
			best = i
		}
	}
	if near[best] < minSimilarity || len(near) > 1 && near[best]-(sum-near[best])/float32(len(near)-1) < minLead {
		return nil
	}
	return list[best]
}

// Find implements turn.Skills: the skills for a search of the catalog, best first.
func (l *Library) Find(query string, n int) []prompt.Note {
	type hit struct {
		*Skill
		score int
	}
	var hits []hit
	asked := templates.MeaningfulStems(query)
	for _, s := range l.currentSkills() {
		if !s.isUsable() {
			continue
		}
		score := 0
		if strings.EqualFold(strings.TrimSpace(query), s.Name) {
			score = triggered
		}
		have := templates.MeaningfulStems(strings.NewReplacer("-", " ", "_", " ").Replace(s.Name) + " " + s.Description + " " + strings.Join(s.Triggers, " "))
		for _, w := range asked {
			if slices.Contains(have, w) {
				score++
			}
		}
		if score > 0 {
			hits = append(hits, hit{s, score})
		}
	}
	sorting.StableByFunc(hits, func(a, b hit) int { return cmp.Compare(b.score, a.score) })
	var out []prompt.Note
	for _, h := range hits[:min(n, len(hits))] {
		text := l.renderText("found", map[string]string{"Name": h.Name, "Description": textnorm.Ellipsize(h.Description, 2*maxLine)})
		out = append(out, prompt.Note{ID: h.Name, Title: h.Name, Text: text, Source: h.Source()})
	}
	return out
}
