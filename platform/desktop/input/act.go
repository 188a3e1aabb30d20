package input

import (
	"context"
	"errors"
	"fmt"
	"time"

	"hob/platform/desktop/window"
)

// desk is the keyboard and the pointer of a desktop during one action. Which checks run, when
// and in what order, is the same on every system (act).
type desk interface {
	// list lists the windows, from the front to the back.
	list(ctx context.Context) ([]window.Window, error)
	// free returns an error if keys do not go to the focused window: a screen lock, a password
	// prompt or a menu may have grabbed them.
	free(ctx context.Context) error
	// raise requests that the window comes to the front.
	raise(ctx context.Context) error
	text(ctx context.Context, some []rune) error
	chord(ctx context.Context, key string, held []string) error
	point(ctx context.Context, x, y int) error
	click(ctx context.Context, x, y int, button string, twice bool) error
	close()
}

// act is one action in a window.
type act struct {
	desk
	w  window.Window
	ok Check
}

// still returns an error if the window no longer has the focus.
func (a act) still(ctx context.Context) error {
	if err := a.free(ctx); err != nil {
		return err
	}
	list, err := a.list(ctx)
	if err != nil {
		return err
	}
	v, found := window.Focused(list)
	if !found || v.ID != a.w.ID {
		return ErrMoved
	}
	return a.ok(v)
}

// shows returns an error if the window is not the one visible at a point.
func (a act) shows(ctx context.Context, x, y int) error {
	if err := a.free(ctx); err != nil {
		return err
	}
	list, err := a.list(ctx)
	if err != nil {
		return err
	}
	v, found := window.At(list, x, y)
	if !found || v.ID != a.w.ID {
		return ErrMoved
	}
	return a.ok(v)
}

// settle is how long to wait for a window to come to the front.
const settle = 3 * time.Second

// front brings the window to the front.
func (a act) front(ctx context.Context) error {
	list, err := a.list(ctx)
	if err != nil {
		return err
	}
	for _, v := range list {
		if v.ID != a.w.ID {
			continue
		}
		if v.Active {
			return a.still(ctx)
		}
		if err := a.raise(ctx); err != nil {
			return err
		}
		return a.settled(ctx)
	}
	return ErrGone
}

func (a act) settled(ctx context.Context) error {
	end := time.Now().Add(settle)
	for {
		err := a.still(ctx)
		if !errors.Is(err, ErrMoved) || time.Now().After(end) {
			return err
		}
		if err := rest(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
}

func rest(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

func (a act) typeText(ctx context.Context, text string) error {
	if err := a.front(ctx); err != nil {
		return err
	}
	runes := []rune(text)
	for n := 0; len(runes) > 0; n++ {
		if n > 0 {
			if err := a.still(ctx); err != nil {
				return unsure(err, len(runes), "characters were not typed")
			}
		}
		some := runes[:min(piece, len(runes))]
		if err := a.desk.text(ctx, some); err != nil {
			return fmt.Errorf("%w: %w", ErrUnsure, err)
		}
		runes = runes[len(some):]
	}
	return nil
}

func (a act) press(ctx context.Context, chord []string) error {
	if err := a.front(ctx); err != nil {
		return err
	}
	for i, c := range chord {
		key, held, err := Chord(c)
		if err != nil {
			return err
		}
		if err := a.still(ctx); err != nil {
			return part(err, len(chord)-i, i)
		}
		if err := a.chord(ctx, key, held); err != nil {
			return fmt.Errorf("%w: %w", ErrUnsure, err)
		}
	}
	return nil
}

func (a act) clickAt(ctx context.Context, x, y int, button string, twice bool) error {
	if a.shows(ctx, x, y) != nil { // another window may cover it
		if err := a.front(ctx); err != nil {
			return err
		}
	}
	if err := a.shows(ctx, x, y); err != nil {
		return err
	}
	if err := a.point(ctx, x, y); err != nil {
		return err
	}
	if err := a.shows(ctx, x, y); err != nil { // the pointer may open something above the window
		return err
	}
	if err := a.desk.click(ctx, x, y, button, twice); err != nil {
		return fmt.Errorf("%w: %w", ErrUnsure, err)
	}
	return nil
}
