// Package prompt builds the request to a model: one stable system block that ends with the
// identity, and the context in the current message.
//
// A conversation keeps its first block until its window starts with a different message, because
// the conversation was restarted or compacted. The block never contains text that changes from turn
// to turn, so each request is a byte prefix of the next. The package selects the context of a
// message and cuts it to a budget; the caller stores the context as sent. The package reads only
// these files of the user: SOUL.md, USER.md and MEMORY.md. It makes no permission decisions and
// never calls a model. The runner calls it once at the beginning of each turn.
package prompt

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"hob/autonomy/llm"
	"hob/knowledge"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/minitmpl"
	"hob/tools"
)

// Memory finds what is stored about a message. *knowledge.Base implements it.
type Memory interface {
	// Recollect returns the rows and relations that help with a message, best first, or none.
	Recollect(ctx context.Context, q store.Querier, r knowledge.RecollectRequest) (knowledge.Recollection, error)
}

// Note is text for the current message. Source is the provenance of the text.
type Note struct {
	ID     string // id for Lessons.UsedTx, or name of a skill; otherwise empty
	Title  string
	Text   string
	Source provenance.Source
}

// Skills finds instructions for certain kinds of work.
type Skills interface {
	// Index lists the existing skills, one per line, or "" if there are none. The list is part of
	// the stable block.
	Index() string
	// Matching returns the bodies of the skills that match text.
	Matching(ctx context.Context, text string) ([]Note, error)
}

// Projects finds the AGENTS.md that applies to a file or folder.
type Projects interface {
	// Nearest returns the nearest AGENTS.md file above the path. ok is false if there is none or
	// Hob may not read the path.
	Nearest(path string) (guide Note, ok bool, err error)
}

// FindProject implements Projects with a function.
type FindProject func(path string) (guide Note, ok bool, err error)

// Nearest implements Projects.
func (f FindProject) Nearest(path string) (guide Note, ok bool, err error) { return f(path) }

// Lessons returns what Hob learned from mistakes and corrections.
type Lessons interface {
	// RelevantLessons returns the lessons that apply to text, best first.
	RelevantLessons(ctx context.Context, realm, text string, limit int) ([]Note, error)
	// UsedTx records which lessons a request in a conversation contained.
	UsedTx(tx *store.Tx, session string, ids []string) error
	// ProfileLine returns one line about the user's preferred name and language, or "" if neither
	// is known. An unattended turn contains no message from the user, so for such a turn the line
	// may name the language of most of the user's messages.
	ProfileLine(ctx context.Context, unattended bool) (string, error)
}

// Texts holds the contents of the owner's files that are part of every request. Each may be empty.
type Texts struct {
	Soul   string // content of SOUL.md; if empty, the built-in persona is used
	User   string // content of USER.md
	Memory string // content of MEMORY.md
}

// Options holds the options of New. All are optional.
type Options struct {
	Name string // the name of the assistant
	// Texts returns the current contents of the owner's files.
	Texts func() Texts
	// Catalog holds the tools. Channels lists the channels to the owner, and Watchers the kinds of
	// watchers.
	Catalog            *tools.Catalog
	Channels, Watchers []string
	// Store stores the blocks of conversations. If it is nil, each request gets the present block.
	Store *store.Store
	// Model returns the current model, for the size of its window.
	Model    func(ctx context.Context) llm.Info
	Memory   Memory
	Skills   Skills
	Projects Projects
	Lessons  Lessons
	Log      *slog.Logger
}

// Builder builds prompts. It may be used concurrently.
type Builder struct {
	o            Options
	system, soul *minitmpl.Template
	texts        *minitmpl.Template // templates for the context

	mu   sync.Mutex
	made [2]struct { // the newest block for the owner and for guests
		of    blockTexts
		block block
	}
}

// New returns a Builder after checking the options.
func New(o Options) (*Builder, error) {
	if o.Name == "" {
		o.Name = "Hob"
	}
	if o.Texts == nil {
		o.Texts = func() Texts { return Texts{} }
	}
	if o.Model == nil {
		o.Model = func(context.Context) llm.Info { return llm.Info{} }
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if (o.Memory != nil || o.Lessons != nil) && o.Store == nil {
		return nil, errors.New("prompt: memory and lessons need a store")
	}
	b := &Builder{o: o}
	for _, t := range []struct {
		to   **minitmpl.Template
		text string
	}{{&b.system, systemText}, {&b.soul, soulText}, {&b.texts, contextText}} {
		var err error
		if *t.to, err = minitmpl.Parse(t.text); err != nil {
			return nil, fmt.Errorf("prompt: parse a template: %w", err)
		}
	}
	_, err := b.renderBlock(blockTexts{Texts: b.o.Texts(), Name: b.o.Name}) // the skills are read at the first turn
	return b, err
}

// Name returns the name of the assistant.
func (b *Builder) Name() string { return b.o.Name }

// TurnContext is the input of a turn that begins, or that continues after a crash or an approval
// request.
type TurnContext struct {
	Session string
	Event   string
	// Before is the conversation's window before the turn. Recorded holds the messages recorded so
	// far in the turn, including the user's message if any.
	Before, Recorded []llm.Message
	Text             string
	Source           provenance.Source
	Attended, Guest  bool
	// OwnerWords has the meaning of tools.Call.OwnerWords. Without them, no credential is recalled.
	OwnerWords []string
	// Realm is the memory namespace of the turn; see tools.Call.
	Realm string
	Now   time.Time // in the owner's time zone
	// Told lists the notices that Hob has sent since the last turn.
	Told []string
	// Turns is the number of real turns in the conversation before this one, including those that
	// left the window.
	Turns int
}

// TurnPrompt is the prompt of a turn.
type TurnPrompt struct {
	System string
	// Context holds the first parts of the current message. It is nil if the turn continues.
	Context []llm.Part
	// RecordTx stores the block of the conversation, so that the next requests begin with the same
	// bytes. first is the first message of this request. Call RecordTx in the transaction that
	// stores the current message. It is nil if there is nothing to store.
	RecordTx func(tx *store.Tx, first llm.Message) error
}

// Begin selects the block and the context of a turn. Failed context lookups are skipped and logged.
// Begin returns only store errors.
func (b *Builder) Begin(ctx context.Context, s TurnContext) (TurnPrompt, error) {
	now, err := b.presentBlock(s.Guest)
	if err != nil {
		return TurnPrompt{}, err
	}
	p, err := b.loadPinned(ctx, s, now)
	if err != nil {
		return TurnPrompt{}, err
	}
	out := TurnPrompt{System: p.text}
	if len(s.Recorded) > 0 {
		return out, nil
	}
	c := b.collectContext(ctx, s, &p, now)
	out.Context = c.parts
	out.RecordTx = b.recordPin(s, p, c.lessons)
	return out, nil
}
