package refine

import (
	"cmp"
	"context"
	_ "embed" // the text
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"hob/autonomy/llm"
	"hob/platform/phrase"
	"hob/platform/provenance"
)

//go:embed describe.md
var describeText string

// Bounds of a description, and of what is asked for it.
const (
	maxPicture   = 3_750_000 // bytes: what all providers take
	maxDescribe  = 1200      // tokens
	maxDescribed = 8000      // characters
)

// ErrNoVision is wrapped when no configured model can see.
var ErrNoVision = errors.New("no model with image input is configured")

// DescriberOptions of NewDescriber; Model and Later are required.
type DescriberOptions struct {
	// Model is asked for at each call.
	Model func(ctx context.Context) (llm.Model, error)
	// Later is wrapped by errors that are no fault of the picture.
	Later   error
	Timeout time.Duration // of a call, default 45 s
	// Pause is how long nobody is asked after such an error, default 1 minute.
	Pause time.Duration
	Now   func() time.Time
}

// Describer has a model say what is on a picture. Its methods may be called
// concurrently.
type Describer struct {
	o DescriberOptions

	mu    sync.Mutex
	until time.Time
	cause string
}

// NewDescriber checks the options.
func NewDescriber(o DescriberOptions) (*Describer, error) {
	if o.Model == nil || o.Later == nil {
		return nil, errors.New("refine: a required option is missing")
	}
	o.Timeout = cmp.Or(o.Timeout, 45*time.Second)
	o.Pause = cmp.Or(o.Pause, time.Minute)
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Describer{o: o}, nil
}

// Ready says why no picture can be described now, nil when one may be tried.
func (d *Describer) Ready(ctx context.Context) error {
	_, err := d.model(ctx)
	return err
}

func (d *Describer) model(ctx context.Context) (llm.Model, error) {
	d.mu.Lock()
	until, cause := d.until, d.cause
	d.mu.Unlock()
	if d.o.Now().Before(until) {
		return nil, fmt.Errorf("%s; %w", cause, d.o.Later)
	}
	m, err := d.o.Model(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w; %w", err, d.o.Later)
	}
	if m == nil || !m.Info().Vision || m.Info().Acts || m.Info().Provider == "offline" {
		return nil, fmt.Errorf("%w; %w", ErrNoVision, d.o.Later)
	}
	return m, nil
}

// Describe asks once. The picture gets no tools and no word of the owner's.
func (d *Describer) Describe(ctx context.Context, data []byte) (string, error) {
	mime := http.DetectContentType(data)
	if !slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, mime) {
		return "", errors.New("models accept only PNG, JPEG, GIF and WebP; convert the image")
	}
	if len(data) > maxPicture {
		return "", fmt.Errorf("the image has %d bytes, the limit is %d; save it smaller", len(data), maxPicture)
	}
	m, err := d.model(ctx)
	if err != nil {
		return "", err
	}
	call, cancel := context.WithTimeout(ctx, d.o.Timeout)
	defer cancel()
	resp, err := llm.Collect(m.Stream(call, llm.Request{
		System: strings.TrimSpace(describeText), NoTools: true, MaxTokens: maxDescribe,
		Messages: []llm.Message{{Role: llm.User, Parts: []llm.Part{
			{Text: "Describe this picture.", Source: provenance.Hob},
			{Image: &llm.Image{MIME: mime, Data: data}, Source: provenance.Outside},
		}}},
		Account: llm.Account{Purpose: llm.ForMemory, Unattended: true},
	}))
	if err != nil {
		return "", d.failed(ctx, err)
	}
	text := phrase.Cut(strings.TrimSpace(resp.Text()), maxDescribed)
	if text == "" || resp.Stop == llm.Refused {
		return "", errors.New("the model refused to describe the image")
	}
	return text, nil
}

// failed tells what the picture cannot help, after which nobody is asked for a
// while, from what another picture may not meet.
func (d *Describer) failed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	switch llm.KindOf(err) {
	case llm.BadRequest, llm.Overflow:
		return err
	}
	pause := d.o.Pause
	if e, ok := errors.AsType[*llm.Error](err); ok {
		pause = max(pause, min(e.RetryAfter, time.Hour))
	}
	d.mu.Lock()
	d.until, d.cause = d.o.Now().Add(pause), err.Error()
	d.mu.Unlock()
	return fmt.Errorf("%w; %w", err, d.o.Later)
}
