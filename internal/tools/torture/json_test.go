package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// texts are cases in the naming of JSONTestSuite: y_ is JSON, n_ is not, of i_
// readers may think as they like.
func texts() map[string]string {
	rep := strings.Repeat
	return map[string]string{
		"y_number_zero": "0", "y_number_minus_zero": "-0", "y_number_fraction": "3.0625", "y_number_exponent": "7e+3",
		"y_number_small_exponent": "2.5E-7", "y_number_int64": "9223372036854775807",
		"y_string_empty": `""`, "y_string_escapes": `"\"\\\/\b\f\n\r\t"`, "y_string_pair": `"\ud83d\ude80"`,
		"y_string_utf8": `"κέρνελ ⚙"`, "y_string_del": "\"\x7f\"", "y_string_brackets": `"]}],{[\"},"`,
		"y_string_escaped_nul": `"\u0000"`, "y_string_ends_in_backslash": `"C:\\"`, "y_string_noncharacter": `"\uffff"`,
		"y_string_like_an_event": `"{\"ph\":\"X\",\"name\":\"k\",\"ts\":1}"`,
		"y_literal_true":         "true", "y_literal_false": "false", "y_literal_null": "null",
		"y_array_empty": "[]", "y_array_mixed": `[1, "b", null, {"c": []}]`, "y_array_spaces": " [\t1 ,\r\n 2 ] ",
		"y_object_empty": "{}", "y_object_nested": `{"a": {"b": {"c": [1, {"d": false}]}}}`,
		"y_object_equal_keys": `{"a": 1, "a": 2}`,
		"y_object_empty_key":  `{"": 0}`, "y_object_escaped_key": `{"\u0061\"b": 0}`,
		"y_structure_nested_20": rep("[", 20) + rep("]", 20),

		"n_string_unclosed": `"unclosed`, "n_string_unclosed_in_array": `["unclosed]`, "n_string_quote_alone": `"`,
		"n_string_escape_at_end": `"\`, "n_string_escaped_quote_at_end": `"a\"`, "n_string_bad_escape": `"\q"`,
		"n_string_hex_escape":    `"\x41"`,
		"n_string_short_unicode": `"\u12"`, "n_string_control": "\"a\x01b\"", "n_string_newline": "\"a\nb\"",
		"n_string_nul":         "\"a\x00b\"",
		"n_string_stray_quote": `"a"b"`, "n_string_single_quotes": `'a'`, "n_string_backticks": "`a`",
		"n_string_bare": "kernel", "n_string_two": `"a""b"`,
		"n_array_unclosed": "[1, 2", "n_array_unopened": "1]", "n_array_closed_twice": "[1]]",
		"n_array_trailing_comma": "[1,]",
		"n_array_leading_comma":  "[,1]", "n_array_missing_comma": "[1 2]", "n_array_closed_by_brace": "[1}",
		"n_array_colon":     "[1:2]",
		"n_object_unclosed": `{"a": 1`, "n_object_unopened": `"a": 1}`, "n_object_closed_twice": `{"a": 1}}`,
		"n_object_trailing_comma": `{"a": 1,}`,
		"n_object_no_value":       `{"a":}`, "n_object_no_colon": `{"a" 1}`, "n_object_key_only": `{"a"}`,
		"n_object_number_key": `{1: 2}`,
		"n_object_bare_key":   `{a: 1}`, "n_object_closed_by_bracket": `{"a": 1]`, "n_object_ends_in_key": `{"a`,
		"n_number_NaN": "NaN", "n_number_infinity": "-Infinity", "n_number_hex": "0x1F", "n_number_plus": "+1",
		"n_number_leading_zero": "012",
		"n_number_no_fraction":  "1.", "n_number_no_whole": ".5", "n_number_no_exponent": "1e",
		"n_number_two_signs": "--1", "n_number_minus": "-",
		"n_literal_capital": "True", "n_literal_cut": "nul", "n_literal_None": "None",
		"n_structure_nothing": "", "n_structure_space": "  ", "n_structure_comma": ",", "n_structure_colon": ":",
		"n_structure_close": "]", "n_structure_close_both": "]}",
		"n_structure_comment": "/* note */ 1", "n_structure_line_comment": "1 // note", "n_structure_hash": "# note",
		"n_structure_nul":     "\x00",
		"n_structure_control": "\x1f[]", "n_structure_two_documents": "{} {}", "n_structure_html": "<b>1</b>",
		"n_structure_form_feed":         "\f1",
		"n_structure_open_arrays_10000": rep("[", 10_000), "n_structure_open_objects_10000": rep(`{"a":`, 10_000),
		"n_structure_closed_10000": rep("]", 10_000), "n_structure_quotes_1001": rep(`"`, 1001),
		"n_structure_open_events": `{"traceEvents": [`,

		"i_string_lone_high": `"\ud800"`, "i_string_lone_low": `["\udc00"]`, "i_string_pair_turned": `"\udc00\ud800"`,
		"i_string_bad_utf8": "\"a\xffb\"", "i_string_cut_utf8": "\"\xe2\x82\"", "i_string_overlong": "\"\xc0\xaf\"",
		"i_string_utf8_surrogate": "\"\xed\xa0\x80\"",
		"i_string_latin1":         "[\"\xe9\"]", "i_number_huge_exponent": "1e99999",
		"i_number_huge_negative_exponent": "-1E+123456789", "i_number_tiny": "1e-99999",
		"i_number_many_digits": rep("9", 5000), "i_structure_bom": "\xef\xbb\xbf{}",
		"i_structure_utf16":                "[\x00\"\x00a\x00\"\x00]\x00",
		"i_structure_nested_10000":         rep("[", 10_000) + rep("]", 10_000),
		"i_structure_nested_objects_10000": rep(`{"a":`, 10_000) + "0" + rep("}", 10_000),
	}
}

// write makes a folder of the cases, as JSONTestSuite's is.
func write(t *testing.T, texts map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range texts {
		if err := os.WriteFile(filepath.Join(dir, name+".json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// fewestCases is what the table above must not shrink below.
const fewestCases = 60

// TestJSONCases embeds the cases as the suite does. No case costs the trace or an
// event before it. As a value, as args and inside a name none costs more than
// the event it stands in; as an element at most the one after it, too, which an
// unclosed case runs into. JSON costs nothing as a value and as args.
func TestJSONCases(t *testing.T) {
	names, cases, err := jsonCases(write(t, texts()))
	if err != nil || len(names) < fewestCases {
		t.Fatalf("%d cases, error %v, want at least %d", len(names), err, fewestCases)
	}
	for _, p := range places() {
		most := map[string]int{"element": 1}[p.name] // neighbours that it may cost
		for i, text := range cases {
			got, err := trace.Read(t.Context(), bytes.NewReader(p.embed(text)), trace.Options{Concurrency: 1})
			if err != nil {
				t.Errorf("%s as %s costs the trace: %v", names[i], p.name, err)
				continue
			}
			front, behind := neighbours(got)
			losses := got.Health().Losses
			if front != around || around-behind > most {
				t.Errorf("%s as %s: %d of %d events in front and %d behind are left, want at most %d lost behind; losses %v", names[i], p.name, front, around, behind, most, losses)
			}
			lost := p.whole - got.Len()
			if lost < 0 || lost > 0 && len(losses) == 0 {
				t.Errorf("%s as %s: %d of %d events, losses %v", names[i], p.name, got.Len(), p.whole, losses)
			}
			if strings.HasPrefix(names[i], "y_") && (p.name == "metadata" || p.name == "args") &&
				(lost != 0 || len(losses) != 0) {
				t.Errorf("%s as %s: %d events lost, losses %v, want none: it is JSON", names[i], p.name, lost, losses)
			}
		}
	}
}

// neighbours counts the events before a case and after it that were read.
func neighbours(t *trace.Trace) (front, behind int) {
	for e := range t.Events(event.LaneGPU) {
		if strings.HasPrefix(e.Name(), "before") {
			front++
		} else if strings.HasPrefix(e.Name(), "after") {
			behind++
		}
	}
	return front, behind
}
