package ui

// Role is what kind of element it is, in the words of accessibility.
type Role string

// Roles that are treated by name.
const (
	RoleWindow      Role = "frame"
	RoleDialog      Role = "dialog"
	RolePassword    Role = "password text"
	RoleLabel       Role = "label"
	RoleComboBox    Role = "combo box"
	RoleSlider      Role = "slider"
	RoleSpin        Role = "spin button"
	RoleScrollBar   Role = "scroll bar"
	RoleTab         Role = "page tab"
	RoleTabs        Role = "page tab list"
	RoleMenu        Role = "menu"
	RoleMenuItem    Role = "menu item"
	RoleText        Role = "text"
	RoleEntry       Role = "entry"
	RoleTable       Role = "table"
	RoleTree        Role = "tree"
	RoleTreeTable   Role = "tree table"
	RoleList        Role = "list"
	RoleListBox     Role = "list box"
	RoleProgress    Role = "progress bar"
	RoleDial        Role = "dial"
	RoleLevel       Role = "level bar"
	RoleCell        Role = "table cell"
	RoleListItem    Role = "list item"
	RoleTreeItem    Role = "tree item"
	RoleApplication Role = "application"
)

// shorts are the first words of ids.
var shorts = map[Role]string{
	RoleWindow: "w", "window": "w", "alert": "alrt", RoleDialog: "dlg", "file chooser": "dlg", "color chooser": "dlg",
	"push button": "btn", "toggle button": "tgl", "switch": "sw", "check box": "chk", "radio button": "rad",
	RoleLabel: "lbl", "static": "lbl", RoleText: "txt", RoleEntry: "txt", RolePassword: "pwd", "paragraph": "par",
	RoleComboBox: "cmb", RoleList: "lst", RoleListBox: "lst", RoleListItem: "itm", RoleMenu: "mnu", "menu bar": "mbar",
	RoleMenuItem: "mit", "check menu item": "mchk", "radio menu item": "mrad", "popup menu": "pop", RoleSlider: "sld",
	RoleSpin: "spn", RoleScrollBar: "scr", RoleTabs: "tabs", RoleTab: "tab", RoleTable: "tbl", RoleCell: "cel",
	RoleTreeTable: "tbl", RoleTree: "tre", RoleTreeItem: "nod", "table row": "row", "table column header": "col",
	"column header": "col", "row header": "rowh", "table row header": "rowh", "image": "img", "icon": "icon",
	"link": "lnk", "grouping": "grp", "panel": "pnl", "tool bar": "tb", "status bar": "st", RoleProgress: "prg",
	RoleLevel: "lvl", RoleDial: "dial", "separator": "sep", "heading": "h", "document web": "doc", "document frame": "doc",
	"document text": "doc", "terminal": "term", "canvas": "cnv", "drawing area": "cnv", "tool tip": "tip",
	"section": "sec", "form": "form", "calendar": "cal", "notification": "note", "info bar": "info",
	"push button menu": "btn", "scroll pane": "sp", "filler": "box", "split pane": "split", "landmark": "land",
}

// Short is the role as ids begin with it.
func (r Role) Short() string {
	if s, ok := shorts[r]; ok {
		return s
	}
	return "el"
}

// boxes are roles that say nothing by themselves: without a name they are folded away.
var boxes = map[Role]bool{
	"filler": true, "panel": true, "viewport": true, "scroll pane": true, "section": true, "split pane": true,
	"layered pane": true, "root pane": true, "glass pane": true, "unknown": true, "redundant object": true,
	"grouping": true, "internal frame": true, "landmark": true, "generic": true, "separator": true, "invalid": true,
	RoleScrollBar: true, "extended": true, "application": true, "embedded": true, "page": true, "image": true,
	"icon": true, "table row": true, "paragraph": true, "header": true, "title bar": true, "form": true,
}

// IsBox reports whether such an element says nothing by itself.
func (r Role) IsBox() bool { return boxes[r] }

// rows are roles of which a container may have thousands.
func (r Role) manyRows() bool {
	switch r {
	case RoleTable, RoleTree, RoleTreeTable, RoleList, RoleListBox:
		return true
	}
	return false
}

// HasNumber reports whether such an element stands at a number.
func (r Role) HasNumber() bool {
	switch r {
	case RoleSlider, RoleSpin, RoleProgress, RoleDial, RoleLevel, RoleScrollBar:
		return true
	}
	return false
}

// HoldsText reports whether such an element's content is more than its name.
func (r Role) HoldsText() bool {
	switch r {
	case RoleText, RoleEntry, RolePassword, RoleSpin, "terminal", "paragraph", "document text", "editbar", "autocomplete":
		return true
	}
	return false
}

// Names holds the roles by AT-SPI's numbers.
var Names = [...]Role{
	"invalid", "accelerator label", "alert", "animation", "arrow", "calendar", "canvas", "check box", "check menu item",
	"color chooser", "column header", "combo box", "date editor", "desktop icon", "desktop frame", "dial", "dialog",
	"directory pane", "drawing area", "file chooser", "filler", "focus traversable", "font chooser", "frame",
	"glass pane", "html container", "icon", "image", "internal frame", "label", "layered pane", "list", "list item",
	"menu", "menu bar", "menu item", "option pane", "page tab", "page tab list", "panel", "password text", "popup menu",
	"progress bar", "push button", "radio button", "radio menu item", "root pane", "row header", "scroll bar",
	"scroll pane", "separator", "slider", "spin button", "split pane", "status bar", "table", "table cell",
	"table column header", "table row header", "tear off menu item", "terminal", "text", "toggle button", "tool bar",
	"tool tip", "tree", "tree table", "unknown", "viewport", "window", "extended", "header", "footer", "paragraph",
	"ruler", "application", "autocomplete", "editbar", "embedded", "entry", "chart", "caption", "document frame",
	"heading", "page", "section", "redundant object", "form", "link", "input method window", "table row", "tree item",
	"document spreadsheet", "document presentation", "document text", "document web", "document email", "comment",
	"list box", "grouping", "image map", "notification", "info bar", "level bar", "title bar", "block quote", "audio",
	"video", "definition", "article", "landmark", "log", "marquee", "math", "rating", "timer", "static",
	"math fraction", "math root", "subscript", "superscript", "description list", "description term",
	"description value", "footnote", "content deletion", "content insertion", "mark", "suggestion", "push button menu",
	"switch",
}
