package rerank

import (
	"cmp"
	"context"
	_ "embed" // embeds the text
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"hob/autonomy/config"
	"hob/autonomy/llm"
	"hob/platform/provenance"
	"hob/platform/text/textnorm"
	"hob/tools"
)

//go:embed describe.md
var describeText string

// Limits of a description and its input.
const (
	maxPicture   = 3_750_000 // in bytes; all providers accept this size
	maxDescribe  = 1200      // in tokens
	maxDescribed = 8000      // in characters
)

// ErrNoVision reports that no configured model supports images.
var ErrNoVision = errors.New("no model with image input is configured")

// DescriberOptions configures NewDescriber. Model and Later are required.
type DescriberOptions struct {
	// Model returns the model. It is called for each request.
	Model func(ctx context.Context) (llm.Model, error)
	// Later is wrapped by errors that the image did not cause.
	Later   error
	Timeout time.Duration // time limit per call (default 45 s)
	// Pause is how long the model is not called after such an error (default 1 minute).
	Pause time.Duration
	Now   func() time.Time
}

// Describer describes images with a model. Its methods may be called concurrently.
type Describer struct {
	o DescriberOptions

	mu    sync.Mutex
	until time.Time
	cause string
}

// NewDescriber validates the options.
func NewDescriber(o DescriberOptions) (*Describer, error) {
	if o.Model == nil || o.Later == nil {
		return nil, errors.New("rerank: DescriberOptions needs Model and Later")
	}
	o.Timeout = cmp.Or(o.Timeout, 45*time.Second)
	o.Pause = cmp.Or(o.Pause, time.Minute)
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Describer{o: o}, nil
}

// Ready returns nil, or the reason why no image can be described now.
func (d *Describer) Ready(ctx context.Context) error {
	_, err := d.readyModel(ctx)
	return err
}

func (d *Describer) readyModel(ctx context.Context) (llm.Model, error) {
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

// Describe calls the model once. The request contains no tools and none of the user's text.
func (d *Describer) Describe(ctx context.Context, data []byte) (string, error) {
	mime := http.DetectContentType(data)
	if !slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, mime) {
		return "", errors.New("models accept only PNG, JPEG, GIF and WebP; convert the image")
	}
	if len(data) > maxPicture {
		return "", fmt.Errorf("the image is %d bytes, but the limit is %d; save a smaller version", len(data), maxPicture)
	}
	m, err := d.readyModel(ctx)
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
		return "", d.classifyFailure(ctx, err)
	}
	text := textnorm.Ellipsize(strings.TrimSpace(resp.Text()), maxDescribed)
	if text == "" || resp.Stop == llm.Refused {
		return "", errors.New("the model refused to describe the image")
	}
	return text, nil
}

// classifyFailure classifies an error. If the image is not the cause, it starts a pause during
// which the model is not called.
func (d *Describer) classifyFailure(ctx context.Context, err error) error {
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

// OpenDescriber returns the configured describer, or nil if pictures are off. model and later are
// the fields of DescriberOptions.
func OpenDescriber(c config.Knowledge, model func(context.Context) (llm.Model, error), later error) (*Describer, error) {
	if c.Pictures == "off" {
		return nil, nil
	}
	return NewDescriber(DescriberOptions{Model: model, Later: later})
}

// DescribeForTool works like Describe, but a model may read the text of its errors.
func (d *Describer) DescribeForTool(ctx context.Context, picture []byte) (string, error) {
	text, err := d.Describe(ctx, picture)
	if errors.Is(err, ErrNoVision) {
		err = tools.CleanErr(err)
	}
	return text, err
}
