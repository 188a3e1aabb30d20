package canvas

import "hob/platform/store/erase"

// Eraser returns an eraser for the widgets. If the title of a widget contains a phrase, the widget is
// deleted, because the title identifies it.
func Eraser() erase.Eraser {
	return erase.Owned{List: []erase.Table{{Name: "widgets", Key: []string{"id"}, Text: []string{"content"}, Names: []string{"name", "title"}}}}
}
