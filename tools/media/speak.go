package media

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"hob/platform/host/speech"
	"hob/platform/provenance"
	"hob/platform/text/textnorm"
	"hob/tools"
)

// Voice reads text aloud; *speech.Voice implements it.
type Voice interface {
	Say(ctx context.Context, text, language string) error
}

type speakIn struct {
	Text     string `json:"text"`
	Language string `json:"language,omitempty" jsonschema:"code such as de, on Linux only; empty: the system language"`
}

func (d Deps) speakTool() tools.Tool {
	return tools.New(tools.Def[speakIn]{
		Spec: tools.Spec{
			Name: "speak", Category: "media", Effects: tools.Write, Timeout: 9 * time.Minute,
			Description: "Read text aloud through this computer's loudspeaker.",
			Keywords:    "say speak voice speech loud aloud listen pronounce text to speech tts",
		},
		Summary: func(in speakIn) string { return fmt.Sprintf("Read aloud: %q", textnorm.Ellipsize(in.Text, 300)) },
		Judge: func(_ context.Context, in speakIn) tools.CallAssessment {
			switch {
			case strings.TrimSpace(in.Text) == "":
				return tools.CallAssessment{Refused: tools.Errorf(tools.InvalidArguments, "the text is empty")}
			case utf8.RuneCountInString(in.Text) > speech.MaxText:
				return tools.CallAssessment{Refused: tools.Errorf(tools.InvalidArguments, "%w", tools.CleanErr(speech.ErrTooLong))}
			}
			return tools.CallAssessment{}
		},
		Run: func(ctx context.Context, _ tools.Call, in speakIn) (tools.Result, error) {
			err := d.Voice.Say(ctx, in.Text, strings.ToLower(strings.TrimSpace(in.Language)))
			switch {
			case errors.Is(err, speech.ErrStopped):
				return tools.Result{}, tools.Errorf(tools.Cancelled, "%w", tools.CleanErr(err))
			case errors.Is(err, speech.ErrEmpty), errors.Is(err, speech.ErrTooLong):
				return tools.Result{}, tools.Errorf(tools.InvalidArguments, "%w", tools.CleanErr(err))
			case err != nil:
				return tools.Result{}, classifyError(err)
			}
			return tools.Result{Source: provenance.Tool, Text: "Read the text aloud."}, nil
		},
	})
}
