package turn

import (
	"encoding/json"

	"hob/platform/provenance"
)

// rowsOf lists the ids of Hob's rows with untrusted origin in the data of a result: objects
// with an id and a provenance, at any depth (see tools.Result.Data).
func rowsOf(data any) (ids []string) {
	if data == nil {
		return nil
	}
	b, err := json.Marshal(data)
	if err != nil {
		return nil
	}
	var v any
	if json.Unmarshal(b, &v) != nil {
		return nil
	}
	var walk func(v any)
	walk = func(v any) {
		switch x := v.(type) {
		case []any:
			for _, e := range x {
				walk(e)
			}
		case map[string]any:
			id, _ := x["id"].(string)
			src, known := x["provenance"].(string)
			if id != "" && known && provenance.Source(src).Tainted() {
				ids = append(ids, id)
			}
			for _, e := range x {
				walk(e)
			}
		}
	}
	walk(v)
	return ids
}
