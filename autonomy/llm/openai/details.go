package openai

import (
	"encoding/json"
	"fmt"
)

// details holds OpenRouter's reasoning_details: pieces of thoughts, some of them encrypted, that
// must be returned unchanged with the calls they led to
// (https://openrouter.ai/docs/use-cases/reasoning-tokens). Values other than a list of objects are
// ignored.
type details []map[string]any

// UnmarshalJSON implements json.Unmarshaler.
func (d *details) UnmarshalJSON(raw []byte) error {
	var list []map[string]any
	if json.Unmarshal(raw, &list) == nil {
		*d = list
	}
	return nil
}

// maxDetails is the maximum number of pieces in one answer.
const maxDetails = 256

// addPieces adds the pieces in a delta. A piece with the index and type of an earlier one continues
// that piece.
func (d *details) addPieces(more details) {
	for _, piece := range more {
		if piece == nil {
			continue
		}
		if i := d.findPiece(piece); i >= 0 {
			joinPiece((*d)[i], piece)
			continue
		}
		if len(*d) < maxDetails {
			*d = append(*d, piece)
		}
	}
}

func (d *details) findPiece(piece map[string]any) int {
	if piece["index"] == nil {
		return -1
	}
	for i, x := range *d {
		if fmt.Sprint(x["index"], x["type"]) == fmt.Sprint(piece["index"], piece["type"]) {
			return i
		}
	}
	return -1
}

func joinPiece(to, piece map[string]any) {
	for k, v := range piece {
		old, isText := to[k].(string)
		text, both := v.(string)
		switch {
		case isText && both && (k == "text" || k == "summary" || k == "data"):
			to[k] = old + text
		case to[k] == nil:
			to[k] = v
		}
	}
}

// toJSON returns the pieces as JSON to return to the server, or nil if there are none.
func (d *details) toJSON() json.RawMessage {
	if len(*d) == 0 {
		return nil
	}
	b, err := json.Marshal([]map[string]any(*d))
	if err != nil {
		return nil
	}
	return b
}
