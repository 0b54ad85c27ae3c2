# SPDX-License-Identifier: GPL-2.0-or-later
# Everything is built under build/; the tools, at build/TOOL, are found by their folders' names.
# A new tool is tools/x/ (x.c, x.bpf.c), man/man8/x.8 and tests/x.bats: nothing here names it (see ehperf-tutorial(7)).

VERSION := 1.0
PREFIX ?= /usr/local
CLANG ?= clang
BPFTOOL ?= bpftool
CFLAGS ?= -O2 -g

# STATIC=1: programs for any distribution's machines, in build/static, which need no libraries there
STATIC ?=
TOOLS := $(patsubst tools/%/,%,$(wildcard tools/*/))
# those that measure; others only read what these write
BPF_TOOLS := $(patsubst %.bpf.c,%,$(notdir $(wildcard tools/*/*.bpf.c)))
MAN_PAGES := $(wildcard man/man*/*)
# libcommon's layers: each may use those after it, and none before it.
# Machine-dependent code is in a layer's folder $(ARCH), and each runtime's in a folder of runtimes/.
LAYERS := run kernel live report runtimes unwind process table dwarf base
HOST_ARCH := $(shell uname -m | sed 's/x86_64/x86/; s/aarch64/arm64/')
ARCH := $(HOST_ARCH)
B := build$(if $(filter-out $(HOST_ARCH),$(ARCH)),/$(ARCH))$(if $(STATIC),/static)
ifeq ($(wildcard bpf/$(ARCH)),)
$(error no tables are made for this machine yet: there is no folder bpf/$(ARCH))
endif
SOURCES := $(wildcard libcommon/*/*.c libcommon/*/$(ARCH)/*.c libcommon/runtimes/*/*.c)

# for another machine, in build/MACHINE: its libraries are Debian's, unpacked there by `make build-deps`
ifneq ($(ARCH),$(HOST_ARCH))
CROSS_arm64 := aarch64-linux-gnu-
SYSROOT := $(B)/sysroot
CC := $(CROSS_$(ARCH))gcc --sysroot=$(SYSROOT)
AR := $(CROSS_$(ARCH))ar
export PKG_CONFIG_SYSROOT_DIR := $(abspath $(SYSROOT))
export PKG_CONFIG_LIBDIR := $(abspath $(SYSROOT)/usr/lib/$(CROSS_$(ARCH):%-=%)/pkgconfig)
endif
MULTIARCH := $(shell $(CC) -print-multiarch)

WARNINGS := -Wall -Wextra -Wno-missing-field-initializers -Wstrict-prototypes -Wmissing-prototypes
INCLUDES := -iquote libcommon -iquote libcommon/table/$(ARCH) -iquote bpf -iquote bpf/$(ARCH) -iquote tools \
	-iquote $(B)/gen -iquote $(B)/skel
# the same bytes, wherever it is built
ANYWHERE := -ffile-prefix-map=$(CURDIR)=.
COMMON_FLAGS := -std=gnu11 -D_GNU_SOURCE -DEHPERF_VERSION='"$(VERSION)"' -DMULTIARCH='"$(MULTIARCH)"' \
	$(WARNINGS) $(INCLUDES) $(ANYWHERE) -MMD -MP
# what bpf/kernel_types.h has of the kernel's types is all: a build reads no kernel's BTF
BPF_FLAGS := --target=bpf -mcpu=v3 -O2 -g -Wall -D__TARGET_ARCH_$(ARCH) -iquote bpf -iquote bpf/$(ARCH) \
	-idirafter $(SYSROOT)/usr/include/$(MULTIARCH) $(ANYWHERE) -MMD -MP
# of the tools with a view
CURSES_LIBS := -Wl,--push-state,--as-needed $(shell pkg-config --libs ncursesw) -Wl,--pop-state
PURE_LIBS := -pthread -lseccomp -ldw -lelf -lZydis -liberty -llzma -lz -ljson-c -lunistring -lprotobuf-c -lpfm -lm \
	$(CURSES_LIBS)
BPF_LIBS := -lbpf -lelf -lz
ifneq ($(STATIC),)
COMMON_FLAGS += -DEHPERF_STATIC
# The linker warns that users who are in no /etc/passwd cannot be looked up.
# On Debian 12: 13's libelf.a lacks functions.
override LDFLAGS += -static -L$(B)
PURE_LIBS += $(shell pkg-config --static --libs libdw libelf)
BPF_LIBS += $(shell pkg-config --static --libs libbpf)
ZYDIS_ARCHIVE := $(B)/libZydis.a
endif

LAYER_ARCHIVES := $(LAYERS:%=$(B)/libcommon/%.a)
# without libbpf: what is linked with these alone proves that the layers it uses are free of it
PURE_ARCHIVES := $(filter-out $(B)/libcommon/kernel.a,$(LAYER_ARCHIVES))
# what is a tool's own, besides its main file
TOOL_SOURCES := $(filter-out $(foreach t,$(TOOLS),tools/$t/$t.c tools/$t/$t.bpf.c),$(wildcard tools/*/*.c))

# a recipe that fails leaves no half-written file
.DELETE_ON_ERROR:

# before a command: says what it makes. V=1: make shows the command instead
show = $(if $(filter-out 0,$(V)),,@echo '  $1	$(@:$(B)/%=%)';)

all: $(TOOLS:%=$(B)/%) $(B)/ehperf completions

help:
	@echo "make              builds the tools, as build/TOOL. V=1: shows commands. STATIC=1: without libraries"
	@echo "make demo         shows the hottest whole stack of five of the distribution's programs; as root"
	@echo "make check        tests in 2 minutes with the build's packages, bats and jq; as root, or what others may"
	@echo "make test         tests what each tool promises, in 6 minutes, or 8 if others use the CPUs; packages of 890 MB; as root"
	@echo "make test-full    tests everything, in more than an hour; packages of 2.7 GB; as root. ONLY=java: that"
	@echo "make bench        measures ours beside the alternatives, in an hour; as root. One: make bench-load"
	@echo "make pictures     draws README's pictures anew; as root"
	@echo "make deps GOAL    installs the goal's packages, and runs it: make deps test. No other goal calls apt"
	@echo "make install      PREFIX=/usr/local, DESTDIR=; uninstall takes it away. make deb: a package"
	@echo "CPPFLAGS, CFLAGS and LDFLAGS are for all but BPF programs and those that the tests measure."
	@echo "tests/README.md says more of the tests."

completions: $(patsubst man/package/%,$(B)/%,$(wildcard man/package/completions/*))

# ---- packages ----

SHELL := /bin/bash

# groups of tests/packages
packages = $(shell sed -n 's/^$1: //p' tests/packages)
GROUPS_check := check
GROUPS_demo := demo
GROUPS_test := check demo core guests
GROUPS_test-arm64 := check core guests runtimes arm64
GROUPS_test-full := $(GROUPS_test) servers runtimes browser pictures packaging peers arm64
GROUPS_test-kernels := $(GROUPS_test)
GROUPS_test-all-kernels := $(GROUPS_test)
GROUPS_test-cfi := $(GROUPS_test)
GROUPS_test-debian := packaging
GROUPS_bench := $(GROUPS_test) servers runtimes peers
GROUPS_deb := packaging
GROUPS_pictures := demo browser pictures
GROUPS_fuzz := fuzz
# those of the goals beside deps; for deps alone, what the build needs
GROUPS = build $(if $(STATIC),static) $(foreach goal,$(patsubst bench-%,bench,$(MAKECMDGOALS)),$(GROUPS_$(goal)))

# the only goal that calls apt
deps:
	tests/deps $(sort $(GROUPS))

# the libraries that a build for another machine is linked with
build-deps:
	tests/fetch-$(ARCH) $(SYSROOT) \
		$(filter-out dpkg-dev,$(filter %-dev,$(call packages,build) $(if $(STATIC),$(call packages,static))))

# `make deps GOAL`: first the one, then the other
ifneq ($(filter deps,$(MAKECMDGOALS)),)
.NOTPARALLEL:
endif

# what is missing of the groups of a goal, in a line
name_missing = @missing=$$(tests/deps --missing build $(GROUPS_$@)) || \
	echo "make $@: without these packages some tests are skipped, 'make deps $@' installs them: $$missing" >&2

# on all CPUs, unless it is said otherwise
BUILD = $(MAKE) $(if $(findstring -j,$(MAKEFLAGS)),,-j$(shell nproc))

# ---- the tools ----

# a build must not need root or apt where everything is there
compilers:
	@for c in $(firstword $(CC)) $(CLANG) $(BPFTOOL); do command -v $$c >/dev/null || \
		{ echo "$$c is missing: 'make deps' as root installs what the build needs" >&2; exit 1; }; done

define compile_bpf
	@mkdir -p $(@D)
	$(call show,BPF)$(CLANG) $(BPF_FLAGS) -c $< -o $@
endef

$(B)/tools/%.bpf.o: tools/%.bpf.c | compilers
	$(compile_bpf)

$(B)/tests/%.bpf.o: tests/%.bpf.c | compilers
	$(compile_bpf)

# ---- files for the build that are made from others ----

# page/x.js as the string page_x_js in page/x.js.h
PAGES := $(patsubst libcommon/report/%,$(B)/gen/%.h,$(wildcard libcommon/report/page/*))
$(B)/gen/page/%.h: libcommon/report/page/%
	@mkdir -p $(@D)
	$(call show,GEN){ echo 'static const char page_$(subst .,_,$(subst -,_,$*))[] = {'; \
		od -An -v -t u1 $< | sed 's/ *\([0-9]\+\)/\1,/g'; \
		echo '0 };'; } > $@

# report/x.proto as report/x.pb-c.c and .h
PROTOS := $(patsubst libcommon/%.proto,%,$(wildcard libcommon/*/*.proto))
$(B)/gen/%.pb-c.c $(B)/gen/%.pb-c.h &: libcommon/%.proto
	@mkdir -p $(@D)
	$(call show,GEN)cd libcommon && protoc-c --c_out=$(abspath $(B)/gen) $*.proto

define compile
	@mkdir -p $(@D)
	$(call show,CC)$(CC) $(CPPFLAGS) $(CFLAGS) $(COMMON_FLAGS) -c $< -o $@
endef

GENERATED := $(PAGES) $(PROTOS:%=$(B)/gen/%.pb-c.h)

$(B)/gen/%.pb-c.o: $(B)/gen/%.pb-c.c
	$(compile)

$(B)/libcommon/%.o: libcommon/%.c | $(GENERATED)
	$(compile)

$(B)/tools/%.o: tools/%.c | $(GENERATED)
	$(compile)

define archive
	$(call show,AR)rm -f $@ && $(AR) qcs $@ $^
endef

define layer
$(B)/libcommon/$1.a: $(patsubst %.c,$(B)/%.o,$(filter libcommon/$1/%,$(SOURCES))) \
	$(patsubst libcommon/%.proto,$(B)/gen/%.pb-c.o,$(wildcard libcommon/$1/*.proto))
	$$(archive)
endef
$(foreach r,$(LAYERS),$(eval $(call layer,$r)))

$(B)/tools.a: $(TOOL_SOURCES:%.c=$(B)/%.o)
	$(archive)

# these say the version
$(B)/libcommon/run/cli.o $(B)/libcommon/report/json.o: Makefile

# NAME, BPF OBJECT. Linking leaves out debug information: three quarters of the object. BTF stays.
define skeleton
$(B)/skel/$1.skel.h: $2
	@mkdir -p $$(@D)
	$$(call show,SKEL)$(BPFTOOL) gen object $(B)/skel/$1.bpf.o $$< && \
		$(BPFTOOL) gen skeleton $(B)/skel/$1.bpf.o name $(subst -,_,$1)_bpf > $$@
endef

define bpf_tool
$(call skeleton,$1,$(B)/tools/$1/$1.bpf.o)
$(B)/tools/$1/$1.o: $(B)/skel/$1.skel.h
endef

define tool
$(B)/$1: $(patsubst %.c,$(B)/%.o,$(filter-out %.bpf.c,$(wildcard tools/$1/*.c))) \
	$(B)/tools.a $(LAYER_ARCHIVES) | $(ZYDIS_ARCHIVE)
	$$(call show,LINK)$$(CC) $$(CFLAGS) $$(LDFLAGS) -o $$@ $$^ $$(BPF_LIBS) $$(PURE_LIBS)
endef
$(foreach t,$(TOOLS),$(eval $(call tool,$t)))
$(foreach t,$(BPF_TOOLS),$(eval $(call bpf_tool,$t)))

$(B)/libZydis.a:
	CC='$(if $(SYSROOT),$(subst $(SYSROOT),$(abspath $(SYSROOT)),$(CC)),$(CC))' AR=$(AR) \
		man/package/zydis-archive $(B)

# one command beside them
$(B)/ehperf: tools/ehperf Makefile
	@mkdir -p $(@D)
	$(call show,GEN)sed 's/@VERSION@/$(VERSION)/' $< > $@ && chmod 755 $@

$(B)/completions/%: man/package/completions/% Makefile
	@mkdir -p $(@D)
	$(call show,GEN)sed 's/@TOOLS@/ehperf $(TOOLS)/' $< > $@

# ---- tests ----

# real programs, small and strange ones, and helpers that look at them with our code
WORKLOADS := $(patsubst tests/workloads/%.c,$(B)/tests/%,$(wildcard tests/workloads/*.c))
X86_WORKLOADS := far-stacks lastcall own-stack stack-edge unharmed	# assembly
# where there is a C++ compiler, which the build does without
CXX_WORKLOADS := $(if $(shell command -v $(CXX)),$(patsubst tests/workloads/%.cc,$(B)/tests/%,\
	$(wildcard tests/workloads/*.cc)))
BPF_HELPERS := $(patsubst tests/helpers/%.c,$(B)/tests/%,$(wildcard tests/helpers/bpf-*.c))
HELPERS := $(filter-out $(BPF_HELPERS),$(patsubst tests/helpers/%.c,$(B)/tests/%,$(wildcard tests/helpers/*.c)))
UNIT_TESTS := $(patsubst tests/unit/%.c,$(B)/tests/unit/%,$(wildcard tests/unit/*.c))
# of arm64's tables, which any machine can make
ARM64_TESTS := $(patsubst tests/unit/arm64/%.c,$(B)/tests/unit/arm64-%,$(wildcard tests/unit/arm64/*.c))
ARM64_HELPERS := $(B)/tests/arm64-code-against-cfi
ARM64_TABLE := $(patsubst libcommon/%.c,$(B)/arm64-table/%.o,$(wildcard libcommon/table/*.c libcommon/table/arm64/*.c))

# as distributions build: optimised, without frame pointers, stripped
$(WORKLOADS): $(B)/tests/%: tests/workloads/%.c
	@mkdir -p $(@D)
	$(call show,CC)$(CC) -O2 -fomit-frame-pointer -Wall -s -pthread $(EXPORTS) -o $@ $<
$(B)/tests/lying-python $(B)/tests/idle $(B)/tests/forks: EXPORTS := -rdynamic
# as Debian's own code for arm64
$(B)/tests/jits: EXPORTS := $(if $(filter arm64,$(ARCH)),-fno-omit-frame-pointer)

# with lazy binding, as Debian's own programs used to be
$(CXX_WORKLOADS): $(B)/tests/%: tests/workloads/%.cc
	@mkdir -p $(@D)
	$(call show,CXX)$(CXX) -O2 -fomit-frame-pointer -Wall -Wl,-z,lazy -s -o $@ $<

# variants of one library: 0 to 3
STORM_LIBRARIES := $(foreach v,0 1 2 3,$(B)/tests/storm$(v).so)
$(STORM_LIBRARIES): $(B)/tests/storm%.so: tests/workloads/lib/storm.c
	@mkdir -p $(@D)
	$(call show,CC)$(CC) -O2 -fomit-frame-pointer -fPIC -shared -DVARIANT=$* -Wall -o $@ $<

$(HELPERS) $(UNIT_TESTS): $(B)/tests/%: $(B)/obj/%.o $(B)/tools.a $(PURE_ARCHIVES)
	@mkdir -p $(@D)
	$(call show,LINK)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(PURE_LIBS)

# what is of arm64 in any build, and only that
$(B)/arm64-table/%.o $(B)/arm64-san/%.o $(B)/arm64-fuzz/%.o $(B)/tests/fuzz/arm64-% $(B)/fuzz/arm64-%: \
	private COMMON_FLAGS := $(subst /$(ARCH) ,/arm64 ,$(COMMON_FLAGS))

$(B)/arm64-table/%.o: libcommon/%.c
	$(compile)

$(B)/arm64-table/unit/%.o: tests/unit/arm64/%.c
	$(compile)

$(ARM64_TESTS): $(B)/tests/unit/arm64-%: \
	$(B)/arm64-table/unit/%.o $(ARM64_TABLE) $(B)/libcommon/dwarf.a $(B)/libcommon/base.a
	@mkdir -p $(@D)
	$(call show,LINK)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(PURE_LIBS)

$(B)/arm64-table/helpers/%.o: tests/helpers/%.c
	$(compile)

$(ARM64_HELPERS): $(B)/tests/arm64-%: \
	$(B)/arm64-table/helpers/%.o $(ARM64_TABLE) $(B)/libcommon/dwarf.a $(B)/libcommon/base.a
	@mkdir -p $(@D)
	$(call show,LINK)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(PURE_LIBS)

# those that load BPF programs themselves
$(B)/tests/bpf-%: $(B)/obj/bpf-%.o $(B)/tools.a $(LAYER_ARCHIVES)
	@mkdir -p $(@D)
	$(call show,LINK)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(BPF_LIBS) $(PURE_LIBS)

$(B)/obj/%.o: tests/helpers/%.c
	$(compile)

$(B)/obj/unit/%.o: tests/unit/%.c
	$(compile)

include tests/fuzz/fuzz.mk

test-programs: $(B)/tests/bpf/refused.bpf.o $(B)/bench/pingpong $(WORKLOADS) $(CXX_WORKLOADS) $(STORM_LIBRARIES) \
	$(HELPERS) $(BPF_HELPERS) $(UNIT_TESTS) $(ARM64_TESTS) $(ARM64_HELPERS) $(FUZZ_TARGETS:%=$(B)/tests/fuzz/%)

# for another machine: the tools and what its guest needs
guest-programs: build-deps
	$(MAKE) ARCH=$(ARCH) all $(filter-out $(X86_WORKLOADS:%=$(B)/tests/%),$(WORKLOADS)) $(B)/tests/rename-type \
		$(B)/tests/unit/escapes

# Three sizes: see tests/README.md. ONLY=PATTERN: the files whose names match.
# A make of its own, because packages that deps has just installed change what can be built.
check test test-full:
	$(name_missing)
	$(BUILD) all test-programs
	$(if $(filter test-full,$@),FILE_SECONDS=5400) ONLY='$(ONLY)' tests/run $(@:test-full=full)

test-kernels:
	$(BUILD) all test-programs
	tests/run tests/kernels/test

test-arm64:
	$(BUILD) test-programs
	KERNELS='arm64 arm64-6.12 arm64-16k arm64-newest' tests/run full tests/kernels/test tests/arm64.bats tests/arm64-runtimes.bats

# every kernel that Debian's archives offer, and what that showed into kernels/README.md
test-all-kernels:
	$(BUILD) all test-programs
	set -o pipefail; tests/kernels/test --all | tee $(B)/kernels/tap
	$(MAKE) kernels-table
	! grep -q '^not ok' $(B)/kernels/tap

kernels-table:
	tests/kernels/table tests/kernels/README.md

# README's demo and the package, in chroots of what debootstrap makes
test-debian:
	set -o pipefail; tests/debian bookworm trixie | tee $(B)/debian.tap

# every ELF file of the machine: exact rows against readelf and llvm-dwarfdump, and the kernel's answers
test-cfi:
	$(MAKE) all
	set -o pipefail; tests/helpers/elf-files | xargs -P 2 -n 200 tests/cfi/compare
	set -o pipefail; $(B)/ehdump --check --recursive /usr/bin /usr/sbin /usr/lib | tail -n 4

include tests/bench/bench.mk

# ---- shows ----

demo:
	$(BUILD) all
	tests/demo

# README's, drawn anew
pictures:
	$(BUILD) all
	man/pictures/draw man/pictures

# ---- installation ----

BASH_COMPLETIONS := share/bash-completion/completions
ZSH_FUNCTIONS ?= site-functions
LIBEXEC := libexec/ehperf
# tools whose names others own: `ehperf TOOL` alone runs them, and ehperf-TOOL(8) is their page
TAKEN ?=
FREE := $(filter-out $(TAKEN),$(TOOLS))
# what is installed, below $(PREFIX); bash-completion loads a file of the command's name
EXAMPLES := $(wildcard man/examples/*)
INSTALLED := $(TOOLS:%=$(LIBEXEC)/%) $(MAN_PAGES:%=share/%) $(TOOLS:%=share/man/man8/ehperf-%.8) \
	share/ehperf/ehperf.schema.json share/zsh/$(ZSH_FUNCTIONS)/_ehperf \
	$(foreach c,ehperf $(TOOLS),sbin/$c $(BASH_COMPLETIONS)/$c) $(EXAMPLES:man/%=share/doc/ehperf/%)

install: TO := $(DESTDIR)$(PREFIX)
install: all
	install -d $(TO)/sbin $(TO)/$(LIBEXEC) $(TO)/$(BASH_COMPLETIONS) $(TO)/share/doc/ehperf/examples
	install -m 755 $(TOOLS:%=$(B)/%) $(TO)/$(LIBEXEC)
	install -m 755 $(B)/ehperf $(TO)/sbin
	install -D -m 644 man/ehperf.schema.json $(TO)/share/ehperf/ehperf.schema.json
	for page in $(MAN_PAGES); do install -D -m 644 $$page $(TO)/share/$$page || exit 1; done
	install -m 644 $(EXAMPLES) $(TO)/share/doc/ehperf/examples
	install -D -m 644 $(B)/completions/_ehperf $(TO)/share/zsh/$(ZSH_FUNCTIONS)/_ehperf
	for command in ehperf $(FREE); do \
		install -m 644 $(B)/completions/ehperf.bash $(TO)/$(BASH_COMPLETIONS)/$$command || exit 1; done
	for tool in $(FREE); do ln -sf ../$(LIBEXEC)/$$tool $(TO)/sbin && \
		ln -sf $$tool.8 $(TO)/share/man/man8/ehperf-$$tool.8 || exit 1; done
	for tool in $(TAKEN); do \
		mv -f $(TO)/share/man/man8/$$tool.8 $(TO)/share/man/man8/ehperf-$$tool.8 || exit 1; done

# directories, too, that were made for it and are empty then
uninstall:
	rm -f $(INSTALLED:%=$(DESTDIR)$(PREFIX)/%)
	cd $(DESTDIR)$(PREFIX) 2>/dev/null && \
		rmdir -p --ignore-fail-on-non-empty $(sort $(dir $(INSTALLED))) 2>/dev/null || true

# ---- packages of it ----

NAME_VERSION := ehperf-$(VERSION)

# What git knows, as it is in this tree; a tree without git is all of it. NEWS is the changelog. The same content is
# the same bytes: each file has the time of the last commit, or, without git, the time that it has in the tree.
dist:
	@mkdir -p $(B)
	sed -e 's/^ehperf (\(.*\)).*/ehperf \1/' -e '/^ -- /d' man/package/debian/changelog > $(B)/NEWS
	touch -r man/package/debian/changelog $(B)/NEWS
	{ git ls-files 2>/dev/null || \
		find . -path ./$(firstword $(subst /, ,$(B))) -prune -o -type f -printf '%P\n'; } | \
		LC_ALL=C sort | sed -e '/^NEWS$$/d' -e '$$a -C$(B)' -e '$$a NEWS' | \
		tar --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX \
		$(shell git log -1 --format=--mtime=@%ct 2>/dev/null) --format=gnu \
		--transform 's,^,$(NAME_VERSION)/,' -T - -cf - | \
		gzip -n > $(B)/$(NAME_VERSION).tar.gz

# build/ehperf_VERSION_MACHINE.deb, for the machine and the release of Debian that this is run on
deb: dist
	$(if $(filter-out $(HOST_ARCH),$(ARCH)),$(error make deb: build the package for $(ARCH) on such a machine))
	rm -rf $(B)/deb && mkdir -p $(B)/deb
	tar -C $(B)/deb -xzf $(B)/$(NAME_VERSION).tar.gz
	cp -r man/package/debian $(B)/deb/$(NAME_VERSION)/debian
	sed -i 's/@BUILD_PACKAGES@/$(shell echo $(call packages,build) | sed 's/ /, /g')/' \
		$(B)/deb/$(NAME_VERSION)/debian/control
	cd $(B)/deb/$(NAME_VERSION) && unset MAKEFLAGS MAKELEVEL && dpkg-buildpackage -b -us -uc
	cp $(B)/deb/ehperf_$(VERSION)_*.deb $(B)
	lintian --fail-on error,warning --profile debian $(B)/deb/*.changes

.PRECIOUS: $(B)/%.o $(B)/obj/%.o
.SECONDARY: $(GENERATED)
format:
	find bpf libcommon tools tests -name '*.[ch]' | xargs clang-format -i

.PHONY: all help deps format build-deps guest-programs compilers completions demo pictures install uninstall dist deb \
	clean check test test-full test-programs test-kernels test-arm64 test-all-kernels test-debian test-cfi kernels-table

clean:
	rm -rf $(B)

# what is unpacked there has directories that end in .d
-include $(filter-out $(foreach d,arm64 static files sysroot guest runtimes musl kernels deb debian,$(B)/$d/%),\
	$(wildcard $(B)/*/*.d $(B)/*/*/*.d $(B)/*/*/*/*.d $(B)/*/*/*/*/*.d $(B)/*/*/*/*/*/*.d))
