package query

import "testing"

func TestMakersByName(t *testing.T) {
	for name, want := range map[string]bool{
		"Item::Item": true, "ns::Item::~Item": true, "Item::operator=": true, "Item::operator==": false, "Item::item": false,
		"std::vector<Item, std::allocator<Item> >::vector":     true,
		"std::pair<a::b, int>::pair<a::b, int>":                true,
		"core::ptr::drop_in_place<alloc::vec::Vec<demo::Row>>": true,
		"main": false, "shop::tier_for": false, "a::b<c::d>": false, "": false,
	} {
		if got := isMaker(name); got != want {
			t.Errorf("isMaker(%q) = %v", name, got)
		}
	}
}
