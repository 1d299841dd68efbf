package classify

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/wordmatch"
)

// TestLetters holds each class of letters at its borders.
func TestLetters(t *testing.T) {
	for _, c := range []struct {
		name    string
		is      func(byte) bool
		yes, no string
	}{
		{"lower", wordmatch.IsLower, "amz", "`{AZ09_"},
		{"upper", wordmatch.IsUpper, "AMZ", "@[az09_"},
		{"digit", wordmatch.IsDigit, "059", "/:aA"},
		{"letter or digit", wordmatch.IsAlnum, "azAZ09\x80\xff", "`{@[/:_ \x7f"},
		{"hexadecimal", isHex, "09afAF", "/:`gG@_"},
		{"part of a word", isWordByte, "azAZ09_\x80", "`{@[/:. "},
		{"space", isSpace, " \t\n\r\v\f", "a_\x00\x1f!\b"},
	} {
		for i := range len(c.yes) {
			if !c.is(c.yes[i]) {
				t.Errorf("%q is not %s", c.yes[i], c.name)
			}
		}
		for i := range len(c.no) {
			if c.is(c.no[i]) {
				t.Errorf("%q is %s", c.no[i], c.name)
			}
		}
	}
	if isIdentifier("") || !isIdentifier("a") || isIdentifier("a-") || isIdentifier("-a") || !isIdentifier("a.b_0") {
		t.Error("an identifier is one or more letters, digits, _ and .")
	}
	if hasLower("") || hasLower("AB0") || !hasLower("aB") || !hasLower("Bz") {
		t.Error("the first and the last letter count")
	}
}

func TestFoldedSpace(t *testing.T) {
	for s, want := range map[string]string{
		"": "", "a": "a", "a b": "a b", " a": "a", "a ": "a", "a  b": "a b", "a\tb": "a b", "a\n": "a", " ": "",
		"\va\f\rb": "a b", "ab cd e": "ab cd e",
	} {
		if got := foldSpace(s); got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
}

func TestAddressesInNames(t *testing.T) {
	for s, want := range map[string]string{
		"0x123456": "0xADDR", "f 0x123456": "f 0xADDR", "0x12345": "0x12345", "0x1234567 g": "0xADDR g",
		"MT320x224x64": "MT320x224x64", "MT320x2240000": "MT320x2240000",
		"0x123456g": "0x123456g", "_0x123456": "_0x123456", "0x123456-": "0xADDR-",
		"a-0xabcdefab-0x999999": "a-0xADDR-0xADDR", "0x": "0x", "0x123456,0x123456": "0xADDR,0xADDR",
		"00x123456": "00x123456", "10x123456": "10x123456",
	} {
		if got := replaceAddresses(s); got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
	for s, want := range map[string]string{
		"void f<int>(int)": "void f<int>", "void f(int)": "void f(int)", "void f<int> (int)": "void f<int> (int)",
		"f<int>(int)": "f<int>(int)", "void (int)": "void (int)", "void f<int>": "void f<int>",
	} {
		if got := Canonical(s); got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
}

func TestBrackets(t *testing.T) {
	for s, want := range map[string]int{
		"(a)": 2, "(a": 2, "((a))": 4, "<(>)": 4, "(a<b)": 4, "<a->b>": 5, "(operator<)": 10, "(operator<<)": 11,
		"(operator>)": 10, "[a]": 2, "{a}": 2, "[a)]": 3, "(a]": 3, "{[}]": 4, "<>": 1, "(<<)": 3, "<->": 3,
	} {
		if got := closing(s, 0); got != want {
			t.Errorf("%s closes at %d, want %d", s, got, want)
		}
	}
	deep := strings.Repeat("(", maxDepth-1) + "<" + "()" + ">" + strings.Repeat(")", maxDepth-1)
	if got := closing(deep, 0); got != len(deep)-2 {
		t.Errorf("a bracket deeper than is read closes what is around it at %d, want %d", got, len(deep)-2)
	}
	deep = strings.Repeat("(", maxDepth) + strings.Repeat(")", maxDepth)
	if got := closing(deep, 0); got != len(deep)-1 {
		t.Errorf("the deepest brackets that are read close at %d, want %d", got, len(deep)-1)
	}
	if maxDepth != 256 {
		t.Errorf("brackets are read to a depth of %d, want 256", maxDepth)
	}
	for s, want := range map[string]bool{"operator": true, "operator ": true, "a::operator": true, "my_operator": false,
		"xoperator": false, "operators": false, "": false} {
		if got := endsWithOperator(s); got != want {
			t.Errorf("%q ends with operator: %v, want %v", s, got, want)
		}
	}
	for s, want := range map[string]bool{
		"": false, "::g": true, " g": true, " _g": true, "g": false, " ": false, " const": false, " const::g": true,
		" constant": true, " noexcept": false, " volatile::g": true, " <": false, " [clone]": false, " const_g": true,
		" 0": true,
	} {
		if got := nameGoesOn(s, 0); got != want {
			t.Errorf("%q goes on: %v, want %v", s, got, want)
		}
	}
	if nameGoesOn("x", 1) || nameGoesOn("x", 2) || !nameGoesOn("x y", 1) {
		t.Error("a name goes on with a name behind a blank")
	}
}

func TestShapes(t *testing.T) {
	for s, want := range map[string]shape{
		"f":                                {0, 1, -1, false},
		"f(int)":                           {0, 1, 1, false},
		"void f(int)":                      {5, 6, 6, false},
		"f(int":                            {0, 1, 1, true},
		"f<int":                            {0, 5, -1, true},
		"(anonymous namespace)::f(int)":    {0, 24, 24, false},
		"a::operator()(int)":               {0, 13, 13, false},
		"a::operator ()(int)":              {0, 14, 14, false},
		"f(int)::g(char)":                  {0, 9, 9, false},
		"decltype (x) f(int)":              {13, 14, 14, false},
		"f [clone .kd]":                    {0, 1, -1, false},
		"f(int) const":                     {0, 1, 1, false},
		"const f(int)":                     {6, 7, 7, false},
		"a const_f(int)":                   {2, 9, 9, false},
		"f(int)::g":                        {0, 9, -1, false},
		"f(int)::{lambda(int)#1}::g const": {27, 32, -1, false},
	} {
		if got := scanShape(s); got != want {
			t.Errorf("%q: %+v, want %+v", s, got, want)
		}
	}
}

// TestRunsOfLetters: a run counts wherever it is.
func TestRunsOfLetters(t *testing.T) {
	for n, want := range map[int]bool{0: false, 1: false, 96: false, 97: true} {
		run := strings.Repeat("a", n)
		for _, s := range []string{run, run + "b", "b" + run, "ab" + run + "ba"} {
			if got := longRun(s); n != 1 && got != want || n == 1 && got {
				t.Errorf("%d letters in %q: %v, want %v", n, s, got, want)
			}
		}
	}
}

// TestNamesThatGrow: a name whose readable form would have 64 KiB is read as it is.
func TestNamesThatGrow(t *testing.T) {
	number := func(i int) string { // of a substitution; the first has none
		if i == 0 {
			return "S_"
		}
		return "S" + strings.ToUpper(strconv.FormatInt(int64(i-1), 36)) + "_"
	}
	name := func(doublings int) string { // f(A, B<A, A>, C<B<A, A>, B<A, A>>, …)
		s, last := "_Z1f3aaa", 0
		for i := range doublings {
			s += "1" + string(rune('B'+i)) + "I" + number(last) + number(last) + "E"
			last = 2 * (i + 1)
		}
		return s
	}
	if n := Parse(name(3)); n.Truncated || n.Demangled != "f(aaa, B<aaa, aaa>, C<B<aaa, aaa>, B<aaa, aaa> >, D<C<B<aaa, aaa>, B<aaa, aaa> >, C<B<aaa, aaa>, B<aaa, aaa> > >)" {
		t.Errorf("three doublings: %v, %s", n.Truncated, n.Demangled)
	}
	for doublings, want := range map[int]bool{11: false, 12: true, 20: true} { // 45 and 98 KB, and 26 MB
		if n := Parse(name(doublings)); n.Truncated != want || (n.Demangled == n.Raw) != want {
			t.Errorf("%d doublings, %d bytes: cut %v, want %v", doublings, len(n.Demangled), n.Truncated, want)
		}
	}
}

// TestLambdas: code in a lambda is named after the function around it.
func TestLambdas(t *testing.T) {
	for s, want := range map[string]string{"f::{lambda()#1}": "f", "a::f::{lambda()#1}": "f",
		"a::f::{lambda()#1}::operator()": "f", "{lambda()#1}": "{lambda()#1}"} {
		if n := Parse(s); n.Function != want {
			t.Errorf("%s: function %s, want %s", s, n.Function, want)
		}
	}
}

func TestParameterList(t *testing.T) {
	for _, s := range []string{"f(int, a<b, c>)", "(int)", "f()", "f", "f(int"} {
		if n := Parse(s); n.hasArgs != strings.Contains(s, "(") {
			t.Errorf("%s has a list: %v", s, n.hasArgs)
		}
	}
}

func TestSplitNames(t *testing.T) {
	for s, want := range map[string]string{
		"": "", " ": "", "a": "a", "a,b": "a|b", "a , b": "a|b", "f<a,b>,c": "f<a,b>|c", "a,": "a|", ",a": "|a",
		"a,b,c,d": "a|b|c",
	} {
		if got := strings.Join(splitTop(s, ',', 3), "|"); got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
	for s, want := range map[string]string{
		"f": "f[]", "a::f": "a[] f[]", "a::b<c,d>::f<e>": "a[] b[c,d] f[e]", "<unnamed>::f": "<unnamed>[] f[]",
		"a::<unnamed>::f": "a[] <unnamed>[] f[]", "(anonymous namespace)::f": "(anonymous namespace)[] f[]",
		"f<a": "f[a]", "f<a::b>": "f[a::b]", "a:b": "a:b[]", "a:": "a:[]", "::f": "f[]", "a::": "a[]",
		"f<a><b>": "f[a]", "f<<a>": "f[<a>]", "a::f<>": "a[] f[]", "f<a>g": "f[a]", "<a>": "[a]", "<a><b>": "[a]",
		"<a>b": "[a]", "a<b>::c": "a[b] c[]", "a::::b": "a[] b[]", "x::y::z": "x[] y[] z[]",
	} {
		var got []string
		for _, c := range splitQualified(nil, s) {
			got = append(got, c.base+"["+c.args+"]")
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("%q: %q, want %q", s, text, want)
		}
	}
}

func TestMangledParts(t *testing.T) {
	for s, want := range map[string]string{
		"3foo": "foo 4 true", "3foobar": "foo 4 true", "9foo": "foo 4 true", "0foo": " 0 false", "3": " 0 false",
		"foo": " 0 false", "12abcdefghijklm": "abcdefghijkl 14 true", "1a2b": "a 2 true",
	} {
		id, next, ok := sourceName(s, 0)
		if got := fmt.Sprint(id, " ", next, " ", ok); got != want {
			t.Errorf("%s: %s, want %s", s, got, want)
		}
	}
	for s, want := range map[string]int{"Li64E": 5, "Lb1E": 4, "Lin64E": 6, "Li64": 0, "L": 0, "LE": 0, "LI6E": 0,
		"LiE": 3, "Li6x": 0, "LzE": 3, "LaE": 3, "Li": 0, "Lin": 0} {
		if got := literalEnd(s, 0); got != want {
			t.Errorf("%s ends at %d, want %d", s, got, want)
		}
	}
	for s, want := range map[string]string{
		"_ZN2at6native3fooILi4E3bar": "foo at,native bar", "_Z3fooILi12E3bari": "foo  bar",
		"_ZN12_GLOBAL__N_13fooIi": "foo  ", "_ZNK2at3fooI": "foo at ", "_ZNSt3fooI": "foo std ",
		"_ZL3fooI3bar": "foo  bar", "_Z": "_Z  ", "_ZN": "_ZN  ",
		"_ZN2at18elementwise_kernelI2at6native3add": "elementwise_kernel at at,native,add",
	} {
		var n Name
		n.readMangled(s)
		if got := n.Function + " " + strings.Join(n.Namespaces, ",") + " " +
			strings.Join(n.TemplateArgs, ","); got != want {
			t.Errorf("%s: %q, want %q", s, got, want)
		}
	}
	var n Name
	n.readMangled("_ZN2at18elementwise_kernelI2at6native3add")
	if n.Operation != "add" {
		t.Errorf("operation %q, want add", n.Operation)
	}
	for n, want := range map[int]bool{96: false, 97: true} {
		if got := longRun("b" + strings.Repeat("a", n) + "b"); got != want {
			t.Errorf("%d letters are a long run: %v, want %v", n, got, want)
		}
	}
	for _, c := range []struct {
		text string
		want bool
	}{{"_Z3foov", true}, {"__Z3foov", true}, {"foo", false}, {"_Z" + strings.Repeat("cv", 7), false}} {
		if _, ok := demangled(c.text); ok != c.want {
			t.Errorf("%s demangles: %v, want %v", c.text, ok, c.want)
		}
	}
}

func TestWordsOfNames(t *testing.T) {
	for s, want := range map[string]string{
		"fooBar": ".foo_bar", "RMSNorm": ".rms_norm", "sm100Bar": ".sm100_bar", "ABC": ".abc", "A": ".a", "a_b": ".a_b",
		"_a": ".a", "a__b": ".a_b", "": "", "__": "", "aB": ".a_b", "ABc": ".a_bc", "x.y": ".x_y", "aBC": ".a_bc",
		"AB_C": ".ab_c",
	} {
		if got := string(wordmatch.Append(nil, s)); got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
	if got := wordmatch.Text("a", "", "bC"); got != ".a.b_c" {
		t.Errorf("%q, want .a.b_c", got)
	}
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{
		{"topk", ".top_k", true}, {"top_k", ".topk", true}, {"rope", ".property", false}, {"*rope*", ".property", true},
		{"*perty", ".property", true}, {"prop*", ".property", true}, {"prop", ".property", false},
		{"*mha", ".gemm_half", false}, {"*m_ha*", ".gemm_half", true}, {"a", ".a", true}, {"a", "", false},
		{"", ".a", false}, {"ab", ".a.b", false}, {"*_b", ".ab", false}, {"*_b", ".a_b", true}, {"b", ".a_b", true},
		{"b", ".a_c", false},
		{"b_*", ".bc", false}, {"b_*", ".b_c", true}, {"kk", ".k_kk", true}, {"abc", ".ab", false}, {"A", ".a", true},
		{"Z", ".z", true}, {"b", ".a.b.c", true}, {"a", ".b.a_c", true}, {" a ", ".a", true},
	} {
		if got := wordmatch.CompileAll([]string{c.pattern}).In(c.text); got != c.want {
			t.Errorf("%s in %s: %v, want %v", c.pattern, c.text, got, c.want)
		}
	}
	long := strings.Repeat("a", 63) + "b"
	if p := wordmatch.Compile(long + "c"); p.Letters() != len(long) || !p.In("."+long) {
		t.Errorf("a pattern has %d letters, want 64", p.Letters())
	}
	if a, b := wordmatch.PairsOf("a_b.c"), wordmatch.PairsOf("abc"); a != b || a == 0 || wordmatch.PairsOf("a") != 0 {
		t.Errorf("pairs %x and %x: separators count", a, b)
	}
	if wordmatch.PairsOf("ab")&^wordmatch.PairsOf("cab") != 0 || wordmatch.PairsOf("ab") == wordmatch.PairsOf("ba") {
		t.Error("pairs of a part are pairs of the whole, in order")
	}
	for s, want := range map[string]string{".gemm_bf16_x": ".gemm_x", ".bf16.gemm": "..gemm",
		".gemm_bf16xbf16xmxfp4": ".gemm", ".a_b": ".a_b", "": "", ".x": ".x", ".m": ".m"} {
		if got := withoutDTypes(s); got != want {
			t.Errorf("%s: %s, want %s", s, got, want)
		}
	}
	for w, want := range map[string]bool{"bf16": true, "bf16xfp8": true, "mxfp4": true, "x": false, "m": false,
		"": false, "abc": false, "bf16xabc": false} {
		if got := isDTypeWord(w); got != want {
			t.Errorf("%q is a type: %v, want %v", w, got, want)
		}
	}
}

func TestWhatGenericKernelsRun(t *testing.T) {
	for _, c := range []struct{ fn, namespaces, args, want, scope string }{
		{"kernel", "internal gemvx", "", "gemvx", "internal"},
		{"kernel", "internal", "", "", ""},
		{"kernel", "gemvx internal", "", "gemvx", ""},
		{"run", "", "", "", ""},
		{"f", "", "g", "", ""},
		{"elementwise_kernel", "", "4;at::native::AddFunctor<float>", "AddFunctor", "at,native"},
		{"elementwise_kernel", "", "gpu_kernel_impl<BinaryFunctor<float, float, MulFunctor>>", "MulFunctor", ""},
		{"elementwise_kernel", "", "4;float", "", ""},
		{"elementwise_kernel", "", "void (anonymous namespace)::f(int)::{lambda()#1}", "f", ""},
		{"multi_tensor_apply_kernel", "", "Adam;LAMBFunctor;std::plus", "LAMBFunctor", ""},
		{"multi_tensor_apply_kernel", "", "Meta;OpFunctor<float>;std::plus", "plus", "std"},
		{"multi_tensor_apply_kernel", "", "Meta;OpFunctor<float>", "OpFunctor", ""},
		{"multi_tensor_apply_kernel", "", "Meta;OpFunctor<float>;4", "OpFunctor", ""},
		{"multi_tensor_apply_kernel", "", "Meta;4", "", ""},
		{"BinaryFunctor", "", "float;MulFunctor", "MulFunctor", ""},
		{"BinaryFunctor", "", "", "", ""},
		{"BinaryFunctor", "", "MulFunctor", "MulFunctor", ""},
		{"elementwise_kernel", "", "{lambda()#1}", "", ""},
		{"elementwise_kernel", "", "elementwise_kernel<elementwise_kernel<elementwise_kernel<elementwise_kernel<elementwise_kernel<elementwise_kernel<a>>>>>>", "elementwise_kernel", ""},
		{"elementwise_kernel", "", "elementwise_kernel<elementwise_kernel<elementwise_kernel<elementwise_kernel<elementwise_kernel<a>>>>>", "a", ""},
	} {
		var args []string
		if c.args != "" {
			args = strings.Split(c.args, ";")
		}
		op, scope := operation(c.fn, strings.Fields(c.namespaces), args)
		if op != c.want || strings.Join(scope, ",") != c.scope {
			t.Errorf("%s of %q: %q in %q, want %q in %q", c.fn, c.args, op, scope, c.want, c.scope)
		}
	}
	for a, want := range map[string]bool{"": true, "4": true, "-1": true, "(int)4": true,
		"(anonymous namespace)::f": false, "float": true, "c10::Half": true, "f": false, "9u": true} {
		if got := isPlainArgument(a); got != want {
			t.Errorf("%q is plain: %v, want %v", a, got, want)
		}
	}
	for s, want := range map[string]string{"f(int)": "f", "(int)": "(int)", "f": "f", " f ": "f"} {
		if got := stripCall(s); got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
}

func TestRowsOfNorms(t *testing.T) {
	for args, want := range map[string]int{"256;16": 4096, "256": 0, "": 0, "float;256;16;8": 4096, "0;256;16": 4096,
		"256ul;16u": 4096, "-1;2;3": 6, "1;1": 1, "a;b": 0} {
		if got := aiterRow(&Name{TemplateArgs: strings.Split(args, ";")}); got != want {
			t.Errorf("%s: %d, want %d", args, got, want)
		}
	}
	for row, want := range map[string]string{"256;4": "norm", "1023;1": ""} {
		n := &Name{Family: familyAITER, Function: "add_rmsnorm_quant_kernel", TemplateArgs: strings.Split(row, ";")}
		if got := tokenGrid(n).Family; got != want {
			t.Errorf("a row of %s: %q, want %q", row, got, want)
		}
	}
}

func TestBaseNames(t *testing.T) {
	for _, c := range []struct {
		name string
		role Role
		want string
	}{
		{"gemm_128", RoleProduct, "gemm_"}, {"abc4", RoleProduct, "abc4"}, {"abcd4", RoleProduct, "abcd"},
		{"abcd<4>", RoleProduct, "abcd"}, {"abcd:", RoleProduct, "abcd:"}, {"abcd/", RoleProduct, "abcd/"},
		{"abcd0", RoleProduct, "abcd"}, {"abcd9", RoleProduct, "abcd"},
		{"void f(int)", RoleNorm, "f"}, {"(a)", RoleNorm, "(a)"}, {"f(a(b))", RoleNorm, "f"},
		{"f(a)g", RoleNorm, "f(a)g"}, {"f(a)(b)", RoleNorm, "f(a)"}, {"f)", RoleNorm, "f)"}, {"g(a", RoleNorm, "g(a"},
	} {
		if got := baseName(c.name, c.role); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestLabelsOfLongNames(t *testing.T) {
	n := &Name{}
	for size, cut := range map[int]bool{labels.long - 1: false, labels.long: true} {
		fn := "gemm_128x64_"
		fn += strings.Repeat("n", size-len(fn))
		want := fn
		if cut {
			want = "gemm_128x64"
		}
		n.Function = fn
		if got := n.shortFunction(fn); got != want {
			t.Errorf("of %d letters: %s, want %s", size, got, want)
		}
	}
	if labels != (labelParams{long: 56, apart: 6, words: 512}) {
		t.Errorf("%+v", labels)
	}
	for fn, want := range map[string]string{
		"Cijk_Alik_Bljk_BBS_BH_MT128x256x32_MI": "Cijk_Alik_Bljk_BBS_MT128x256x32",
		"Cijk_Alik_Bljk_BBS_MT1":                "Cijk_Alik_Bljk_BBS_MT1", "Cijk_Alik_Bljk_MT128_x": "",
		"Cijk_Alik_Bljk_BBS_MTx": "", "Cijk_Alik_Bljk_BBS_MT": "",
	} {
		if got, ok := tensileLabel(fn); got != want || ok != (want != "") {
			t.Errorf("%s: %q, want %q", fn, got, want)
		}
	}
	if got := len(labelWords(strings.Repeat("a ", 600))); got != 512 {
		t.Errorf("%d words, want 512", got)
	}
	for name, want := range map[string]string{"a_b": "a b", "a_b c": "a_b c", "f<1, 2>": "f 1 2", "f": "f", "": ""} {
		if got := strings.Join(labelWords(name), " "); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
	of := []string{"x", "x", "x #1", "y"}
	if unique(of); !slices.Equal(of, []string{"x #2", "x #3", "x #1", "y"}) {
		t.Errorf("labels %q", of)
	}
	if got := Labels([]string{"a::f", "b::f", "f<1>", "f<2>", "f<2>"}, nil); !slices.Equal(got,
		[]string{"f<a>", "f<b>", "f<1>", "f<2>", "f<2>"}) {
		t.Errorf("%q", got)
	}
	if got := Labels([]string{"a::f", "b::f"}, nil); !slices.Equal(got, []string{"a::f", "b::f"}) {
		t.Errorf("%q", got)
	}
}

func TestTypesOfGeneratedNames(t *testing.T) {
	for fn, want := range map[string]DType{"Cijk_Alik_Bljk_BBS_BH": "bf16", "Cijk_Alik_Bljk_F8BS": "fp8",
		"Cijk_Alik_Bljk_HHS": "fp16", "Cijk_Alik": "", "Cijk_Alik_Bljk_Q": "", "Cijk_Alik_Bljk_DB": "fp64"} {
		if got := tensileDType(fn); got != want {
			t.Errorf("%s: %q, want %q", fn, got, want)
		}
	}
	for fn, want := range map[string]DType{"nvjet_tst_128": "bf16", "nvjet_sm103_hsh": "fp16", "nvjet_qqtst": "fp8",
		"nvjet_sss": "fp32", "nvjet_ddd": "fp64", "nvjet_": "", "nvjet_x": "", "nvjet_sm90": ""} {
		if got := nvjetDType(fn); got != want {
			t.Errorf("%s: %q, want %q", fn, got, want)
		}
	}
	for args, want := range map[string]DType{"__nv_bfloat16;signed char": "int8", "float": "fp32",
		"(vllm::Fp8KVCacheDataType)0;float": "fp32", "": "", strings.Repeat("a", 253) + "fp8": "fp8",
		strings.Repeat("a", 254) + "fp8": ""} {
		n := Name{Function: "k", TemplateArgs: strings.Split(args, ";")}
		if got := n.dType(); got != want {
			t.Errorf("%.20s: %q, want %q", args, got, want)
		}
	}
	for f, want := range map[string]bool{"bmm_Bfloat16": true, "gemm_E4m3": true, "bmm_": false, "gemm_bf16": false,
		"gemm_Zebra": false, "x_E4m3": false} {
		if got := isTRTLLMGen(f); got != want {
			t.Errorf("%s is generated: %v, want %v", f, got, want)
		}
	}
	for f, want := range map[string]bool{"volta_sgemm": true, "volta_cudnn": true, "volta_x": false, "sgemm": false} {
		if got := hasArchGEMMPrefix(f); got != want {
			t.Errorf("%s is of cuBLAS: %v, want %v", f, got, want)
		}
	}
	if f := (Parse("dpsk::ep::f<int>()")).Family; f != familyDeepEP {
		t.Errorf("family %q, want %q", f, familyDeepEP)
	}
	if f := (Parse("dpsk::f<int>()")).Family; f == familyDeepEP {
		t.Error("products beside DeepEP are of DeepEP")
	}
}

// TestRulesFileSize: a file of exactly the limit is read, a longer one refused.
func TestRulesFileSize(t *testing.T) {
	if maxRulesFile != 8*1024*1024 {
		t.Errorf("limit %d, want 8 MiB", maxRulesFile)
	}
	const text = `{"version": 1, "rules": []}`
	for more, want := range map[int]bool{0: true, 1: false} {
		_, err := LoadRules(strings.NewReader(text + strings.Repeat(" ", maxRulesFile-len(text)+more)))
		if (err == nil) != want {
			t.Errorf("%d bytes beyond the limit: %v", more, err)
		}
	}
	for version, want := range map[int]bool{0: false, 1: true, 2: false} {
		if _, err := LoadRules(strings.NewReader(fmt.Sprintf(`{"version": %d, "rules": []}`,
			version))); (err == nil) != want {
			t.Errorf("version %d: %v", version, err)
		}
	}
}

// TestWrapperRulesNeedAnOperation: a rule on a generic kernel holds where the name shows what it runs.
func TestWrapperRulesNeedAnOperation(t *testing.T) {
	c := compileRule(&Rule{ID: "x", Category: CategoryOther, When: Pattern{Wrapper: []string{"elementwise*"}}})
	for name, want := range map[string]bool{"elementwise_kernel<4, AddFunctor>(int)": true,
		"elementwise_kernel<4, float>(int)": false, "other_kernel<4, AddFunctor>(int)": false} {
		n := Parse(name)
		s := newSubject(&n)
		if got := c.matches(&s); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}
