package modelrouter

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"hob/autonomy/llm"
	"hob/platform/store"
)

// Migrations returns the package's tables: the model and reason of each turn, and the model
// that the user chose for a conversation.
func Migrations() store.MigrationSet {
	return store.MigrationSet{Owner: "brain", Steps: []string{`
CREATE TABLE turn_models (event TEXT PRIMARY KEY, model TEXT NOT NULL, reason TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE session_models (session TEXT PRIMARY KEY, model TEXT NOT NULL, chosen_at INTEGER NOT NULL) WITHOUT ROWID;
`}}
}

// Options holds the settings of a Router; Store, Pins, Standing and Named are required.
type Options struct {
	Store *store.Store
	// Pins holds the models that the user chose for conversations. All routers share it.
	Pins *SessionModels
	// Standing returns the default model.
	Standing func(ctx context.Context) (m llm.Model, reason string, err error)
	// Named returns the model called name, with its fallbacks.
	Named func(name string) (llm.Model, error)
	// Small is the name of the model for plain messages, or "".
	Small string
}

// Router selects the model of each turn. Its methods may be called concurrently.
type Router struct{ o Options }

// New creates a Router over a store opened with Migrations. It does no I/O.
func New(o Options) (*Router, error) {
	if o.Store == nil || o.Pins == nil || o.Standing == nil || o.Named == nil {
		return nil, errors.New("modelrouter: Options needs Store, Pins, Standing and Named")
	}
	return &Router{o: o}, nil
}

// Choose returns the model for a turn. A resumed turn keeps its recorded model. Otherwise the
// user's choice for the conversation applies, then the small model if the message is plain, then
// the default model.
func (c *Router) Choose(ctx context.Context, ask TurnInfo) (Choice, error) {
	if ask.Resumed {
		if got, ok, err := c.recordedChoice(ctx, ask.Event); err != nil || ok {
			return got, err
		}
	}
	got, err := c.decideModel(ctx, ask)
	if err != nil {
		return Choice{}, err
	}
	name := got.Model.Info().Name()
	got.Record = func(tx *store.Tx) error {
		_, err := tx.Exec(`INSERT INTO turn_models (event, model, reason) VALUES (?,?,?) ON CONFLICT (event) DO NOTHING`, ask.Event, name, got.Reason)
		if err != nil {
			return fmt.Errorf("modelrouter: record the choice: %w", err)
		}
		return nil
	}
	return got, nil
}

func (c *Router) decideModel(ctx context.Context, ask TurnInfo) (Choice, error) {
	pinned, err := c.o.Pins.Of(ctx, ask.Session)
	if err != nil {
		return Choice{}, err
	}
	if pinned != "" {
		m, err := c.o.Named(pinned)
		if err != nil {
			return Choice{}, fmt.Errorf("the model chosen for this conversation cannot be used: %w; /model auto returns to the default model", err)
		}
		return Choice{Model: m, Reason: "you chose it for this conversation"}, nil
	}
	m, reason, err := c.o.Standing(ctx)
	if err != nil || c.o.Small == "" {
		return Choice{Model: m, Reason: reason}, err
	}
	if why := c.smallModelObjection(ask); why != "" {
		return Choice{Model: m, Reason: reason + "; not the small model, because " + why}, nil
	}
	small, err := c.o.Named(c.o.Small)
	if err != nil {
		return Choice{}, err
	}
	return Choice{Model: withSmall(small, m), Reason: "the message is short and plain, so the small model answers"}, nil
}

// smallModelObjection returns why the small model is not suitable for this turn, or "" if it is
// suitable.
func (c *Router) smallModelObjection(ask TurnInfo) string {
	switch {
	case !ask.Attended:
		return "no user sent this message"
	case !ask.Bare:
		return "the message has an attachment or other text"
	case ask.Chain:
		return "the previous turn used tools, and the message may refer to their results"
	}
	_, why := IsPlainMessage(ask.Text)
	return why
}

// recordedChoice returns the model with which a turn started. If that model no longer exists, it
// returns the default model.
func (c *Router) recordedChoice(ctx context.Context, event string) (Choice, bool, error) {
	name, reason, ok, err := c.Lookup(ctx, event)
	if err != nil || !ok {
		return Choice{}, false, err
	}
	standing, _, err := c.o.Standing(ctx)
	if err == nil && standing.Info().Name() == name {
		return Choice{Model: standing, Reason: reason}, true, nil
	}
	m, nerr := c.o.Named(name)
	switch {
	case nerr == nil:
		return Choice{Model: m, Reason: reason}, true, nil
	case err != nil:
		return Choice{}, false, err
	}
	return Choice{Model: standing, Reason: fmt.Sprintf("%s, which started the turn, no longer exists", name)}, true, nil
}

// Lookup returns which model was chosen for a turn, and why.
func (c *Router) Lookup(ctx context.Context, event string) (model, reason string, ok bool, err error) {
	err = c.o.Store.Read().QueryRowContext(ctx, `SELECT model, reason FROM turn_models WHERE event = ?`, event).Scan(&model, &reason)
	if errors.Is(err, sql.ErrNoRows) {
		return "", "", false, nil
	}
	if err != nil {
		return "", "", false, fmt.Errorf("modelrouter: read the model of a turn: %w", err)
	}
	return model, reason, true, nil
}

// Pin sets the model of a conversation from its next turn on; the choice survives a restart. An
// empty model removes the choice. Pin rejects unknown names.
func (c *Router) Pin(ctx context.Context, session, model string) error {
	model = strings.TrimSpace(model)
	if model != "" {
		if _, err := c.o.Named(model); err != nil {
			return err
		}
	}
	return c.o.Pins.setPin(ctx, session, model)
}
