// Package prompt builds the request to a model: one stable system block that ends with the
// identity, and the context in the current message.
//
// A conversation keeps its first block until its window has another start (it was restarted or
// compacted). Text that changes from turn to turn is never in the block, so that each request
// is a byte prefix of the next. The package selects the context of a message and cuts it to a
// budget; the caller stores it as sent. Of the user's files the package reads only SOUL.md,
// USER.md and MEMORY.md. It makes no permission decisions, and never calls a model. The runner
// calls it once at the beginning of each turn.
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

// Memory finds remembered facts; *knowledge.Base implements it.
type Memory interface {
	// Relevant returns the facts of a realm that match a text, best first; none if no fact does.
	Relevant(q store.Querier, realm, text string, limit int) ([]knowledge.Fact, error)
}

// Note is a text for the current message. Source is the provenance of its words.
type Note struct {
	ID     string // for Lessons.UsedTx; else empty
	Title  string
	Text   string
	Source provenance.Source
}

// Graph adds knowledge about the people and items that a text names: a small slice of the
// graph, one line for each edge. Nothing implements it yet.
type Graph interface {
	Slice(ctx context.Context, realm, text string) (Note, error)
}

// Skills finds instructions for certain kinds of work.
type Skills interface {
	// Index lists the existing skills, one per line; it is part of the stable block and "" if
	// there are none.
	Index() string
	// Matching returns the bodies of the skills that match a text.
	Matching(ctx context.Context, text string) ([]Note, error)
}

// Projects finds the AGENTS.md that applies to a file or folder.
type Projects interface {
	// Nearest returns the nearest one above the path; ok is false if there is none, or Hob may
	// not read the path.
	Nearest(path string) (guide Note, ok bool, err error)
}

// Lessons returns what Hob learned from mistakes and corrections.
type Lessons interface {
	// RelevantLessons returns the lessons that apply to a text, best first.
	RelevantLessons(ctx context.Context, realm, text string, limit int) ([]Note, error)
	// UsedTx records which lessons a request of a conversation contained.
	UsedTx(tx *store.Tx, session string, ids []string) error
	// ProfileLine returns one line about the user's preferred name and language, "" if neither is
	// known. For an unattended turn, which contains no message of the user, it may name the
	// language of most messages.
	ProfileLine(ctx context.Context, unattended bool) (string, error)
}

// Texts are the owner's texts for every request; each may be empty.
type Texts struct {
	Soul   string // SOUL.md; empty: the built-in persona
	User   string // USER.md
	Memory string // MEMORY.md
}

// Options are the options of New. Everything is optional.
type Options struct {
	Name string // the name of the assistant
	// Texts returns the owner's current texts.
	Texts func() Texts
	// Catalogue holds the tools; Channels and Watchers name the channels to the owner and the
	// kinds of watchers.
	Catalogue          *tools.Catalogue
	Channels, Watchers []string
	// Store stores the blocks of conversations. Without one, each request gets the present
	// block.
	Store *store.Store
	// Model returns the current model, for the size of its window.
	Model    func(ctx context.Context) llm.Info
	Memory   Memory
	Graph    Graph
	Skills   Skills
	Projects Projects
	Lessons  Lessons
	Log      *slog.Logger
}

// Builder makes prompts. It may be used concurrently.
type Builder struct {
	o            Options
	system, soul *minitmpl.Template
	texts        *minitmpl.Template // of the context

	mu   sync.Mutex
	made [2]struct { // the newest block for the owner and for guests
		of    blockTexts
		block block
	}
}

// New checks the options.
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
			return nil, fmt.Errorf("prompt: %w", err)
		}
	}
	_, err := b.presentBlock(false)
	return b, err
}

// Name returns the name of the assistant.
func (b *Builder) Name() string { return b.o.Name }

// TurnContext is the input of a turn that begins, or continues after a crash or a question.
type TurnContext struct {
	Session string
	Event   string
	// Before is the conversation's window before the turn, Recorded what the turn has recorded
	// so far, including its message if any.
	Before, Recorded []llm.Message
	Text             string
	Source           provenance.Source
	Attended, Guest  bool
	// OwnerWords are as in tools.Call: without them no credential is recalled.
	OwnerWords []string
	// Realm is the memory namespace of the turn; see tools.Call.
	Realm string
	Now   time.Time // in the owner's zone
	// Told are the notices that Hob sent since the last turn.
	Told []string
	// Turns counts the real turns of the conversation before this one, including those that
	// left the window.
	Turns int
}

// TurnPrompt is the prompt of a turn.
type TurnPrompt struct {
	System string
	// Context are the first parts of the current message; nil if the turn continues.
	Context []llm.Part
	// RecordTx stores the block of the conversation, so that the next requests begin with the
	// same bytes. first is the first message of this request. Call it in the transaction that
	// stores the current message. Nil: there is nothing to store.
	RecordTx func(tx *store.Tx, first llm.Message) error
}

// Begin selects the block and the context of a turn. Failed lookups for the context are skipped
// and logged; an error comes from the store.
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
