# SPDX-License-Identifier: Apache-2.0
#
# One non-recursive Makefile. A static archive per room under user/, so that a
# dependency against the arrows of docs/architecture.md fails at link time.
#
#   O=DIR      output folder (default build)
#   ARCH=arm64 build for another processor, with clang, in the output folder's folder of that name
#   V=1        show whole commands
#   SAN=1      AddressSanitizer and UndefinedBehaviorSanitizer
#   WERROR=1   warnings are errors (continuous integration sets it)

O      ?= build
CC     ?= cc
CLANG  ?= clang
PROTOC_C ?= protoc-c
BPFTOOL ?= $(firstword $(wildcard /usr/sbin/bpftool /usr/bin/bpftool /usr/local/sbin/bpftool) bpftool)
T      ?= 60
J      ?= 2

# Processors have Debian's names. What differs between them is in include/arch/$(ARCH)/arch.h.
NATIVE := $(patsubst x86_64,amd64,$(patsubst aarch64,arm64,$(shell uname -m)))
ARCH   ?= $(NATIVE)
OTHER  := $(firstword $(filter-out $(NATIVE),arm64 amd64))
TRIPLE_amd64 := x86_64-linux-gnu
TRIPLE_arm64 := aarch64-linux-gnu
ifneq ($(ARCH),$(NATIVE))
  ifeq ($(TRIPLE_$(ARCH)),)
    $(error ARCH=$(ARCH): expected amd64 or arm64)
  endif
  override O := $(O)/$(ARCH)
  SYSROOT := $(or $(PINFOLD_CACHE),build/cache)/$(ARCH)/sysroot
  # clang compiles for every processor it knows; the libraries come from that one's packages
  CC := $(CLANG) --target=$(TRIPLE_$(ARCH)) --sysroot=$(SYSROOT)
  LDFLAGS += -fuse-ld=lld
  LIBRARIES_READY := $(SYSROOT)/complete
  # clang also warns of these in structs whose other members are named
  CLANG_WARNINGS := -Wno-missing-field-initializers
endif

VERSION  := $(shell sed -n 's/^\#define PINFOLD_VERSION "\(.*\)"/\1/p' include/pinfold/names.h)
REVISION := $(shell git rev-parse --short=12 HEAD 2>/dev/null || echo unknown)

ifeq ($(V),1)
  Q :=
  say = @:
else
  Q := @
  say = @printf '  %-8s %s\n' '$(1)' '$(patsubst $(CURDIR)/%,%,$(2))'
endif

WARNINGS := -Wall -Wextra -Wshadow -Wmissing-prototypes -Wstrict-prototypes -Wvla \
	    -Wimplicit-fallthrough -Wno-unused-parameter -Wformat=2 $(CLANG_WARNINGS)
CPPFLAGS += -D_GNU_SOURCE -Iuser -Iinclude -Iinclude/arch/$(ARCH) -I$(O)/gen
CFLAGS   ?= -O2 -g
CFLAGS_ALL := -std=gnu17 $(WARNINGS) $(CFLAGS) -fno-strict-aliasing -fstack-protector-strong
ifeq ($(WERROR),1)
  CFLAGS_ALL += -Werror
endif
ifeq ($(SAN),1)
  CFLAGS_ALL += -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
  LDFLAGS += -fsanitize=address,undefined
endif

# libraries of each room beyond libc
LIBS_bpf     := -lbpf -lelf -lz
LIBS_machine := -lhwloc -lnuma
LIBS_format  := -lyaml -ljson-c
LIBS_kubelet := -ljson-c
LIBS_lib     := -lsystemd
LIBS_cgroup  := -lsystemd
LIBS_source  := -lsystemd
LIBS_discover := -lsystemd
LIBS_serve   := -lmicrohttpd -ljson-c -lsystemd
LIBS_nri     := -lprotobuf-c
LIBS_runtime := -lsystemd
LIBS_ctl     := -ljson-c -lsystemd
LIBS_core    := -lm
# not a room: for tests that parse JSON without one
LIBS_json    := -ljson-c

ROOMS := core format kubelet ctl machine irq stranger cgroup bpf source discover runtime nri serve lib
# link order: wirers first, what they need after
LINK_ORDER := serve ctl source discover runtime cgroup bpf nri irq stranger machine kubelet format core lib

room_sources = $(wildcard user/$(1)/*.c user/$(1)/*/*.c)
# what a room has beside its sources, made in $(O)/gen
GENERATED_nri := nri.pb-c
room_objects = $(patsubst %.c,$(O)/%.o,$(call room_sources,$(1))) $(GENERATED_$(1):%=$(O)/gen/%.o)
BUILT_ROOMS := $(foreach r,$(ROOMS),$(if $(call room_sources,$(r)),$(r)))
archives = $(foreach r,$(filter $(1),$(LINK_ORDER)),$(if $(filter $(r),$(BUILT_ROOMS)),$(O)/lib$(r).a))
libraries = $(foreach r,$(1),$(LIBS_$(r)))

AGENT_ROOMS := $(filter $(BUILT_ROOMS),$(LINK_ORDER))
TOOL_ROOMS  := machine kubelet format core lib

BPF_SOURCES := $(wildcard bpf/*.bpf.c)
SKELETONS   := $(patsubst bpf/%.bpf.c,$(O)/gen/%.skel.h,$(BPF_SOURCES))
UNIT_TESTS  := $(patsubst tests/unit/%.c,$(O)/tests/unit/%,$(wildcard tests/unit/test_*.c))
EXHAUSTIVE  := $(patsubst tests/exhaustive/%.c,$(O)/tests/exhaustive/%,$(wildcard tests/exhaustive/*.c))
FUZZERS     := $(patsubst tests/fuzz/%.c,$(O)/tests/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))
BENCHES     := $(patsubst tests/bench/%.c,$(O)/tests/bench/%,$(wildcard tests/bench/bench_*.c))
MONITORING  := $(O)/tests/monitoring/agent
BROWSER     := $(O)/tests/browser/node
GUEST_PROGRAMS := $(patsubst tests/guest/%.c,$(O)/tests/guest/%,$(wildcard tests/guest/*.c))
TOOL_SOURCES := $(wildcard tools/*.c)
# A program for clusters with topology-aware schedulers; what else there is needs no libcurl.
HAS_CURL := $(if $(filter $(ARCH),$(NATIVE)),$(shell pkg-config --exists libcurl && echo yes))
PUBLISHER := $(if $(HAS_CURL),$(O)/pinfold-publisher)

.DELETE_ON_ERROR:
.SECONDARY:
.PHONY: all help pinfoldd pinfold replay unit corpus guest-programs check golden property mutants prove mutation coverage test test-kernels test-guest attacks race soak bench \
	bench-core bench-guest fuzz demo fresh install clean format format-check

all: pinfoldd pinfold replay $(PUBLISHER) ## build the agent, the inspector and the vector player

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1\t\2/p' Makefile | expand -t 18

pinfoldd: $(O)/pinfoldd ## build the agent
pinfold: $(O)/pinfold ## build the inspector
replay: $(O)/tests/replay ## build the player of recorded vectors

ifneq ($(LIBRARIES_READY),)
$(LIBRARIES_READY):
	$(call say,FETCH,$(@D))
	$(Q)PINFOLD_ARCH=$(ARCH) tools/guest/sysroot
endif

$(O)/%.o: %.c | $(LIBRARIES_READY)
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS_ALL) $(EXTRA_CFLAGS) -MMD -MP -c -o $@ $<

# --- BPF: one object and one skeleton per feature -----------------------------------------------
BPF_HEADERS := $(wildcard bpf/*.h tests/bpf/*.h vmlinux/*.h include/pinfold/*.h include/arch/$(ARCH)/*.h)

# those of tests are in tests/bpf
define bpf_rule
$(O)/$(1)/%.bpf.o: $(1)/%.bpf.c $(BPF_HEADERS)
	@mkdir -p $$(@D)
	$$(call say,BPF,$$@)
	$$(Q)$$(CLANG) -target bpf -mcpu=v3 -O2 -g -ffile-prefix-map=$$(CURDIR)=. -Wall -Wextra \
		-Wno-unused-parameter -Wno-missing-declarations -Iinclude/arch/$(ARCH) -Ivmlinux -Iinclude -Ibpf -c -o $$@.raw $$<
	$$(Q)$$(BPFTOOL) gen object $$@ $$@.raw
	$$(Q)rm -f $$@.raw

$(O)/gen/%.skel.h: $(O)/$(1)/%.bpf.o
	@mkdir -p $$(@D)
	$$(call say,SKEL,$$@)
	$$(Q)$$(BPFTOOL) gen skeleton $$< name $$(subst -,_,$$*) > $$@
endef
$(foreach d,bpf tests/bpf,$(eval $(call bpf_rule,$(d))))

$(patsubst %.c,$(O)/%.o,$(wildcard user/bpf/*.c tests/bench/*.c)): | $(SKELETONS)
$(O)/tests/guest/causes_drive.o: | $(O)/gen/switch_log.skel.h

# --- the messages of NRI: protobuf-c makes reader and writer ------------------------------------
$(O)/gen/%.pb-c.c: user/nri/%.proto
	@mkdir -p $(@D)
	$(call say,PROTO,$@)
	$(Q)$(PROTOC_C) --proto_path=$(<D) --c_out=$(@D) $(<F)

$(O)/gen/%.pb-c.o: $(O)/gen/%.pb-c.c | $(LIBRARIES_READY)
	$(call say,CC,$@)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS_ALL) -MMD -MP -c -o $@ $<

$(O)/fuzzed/gen/%.pb-c.o: $(O)/gen/%.pb-c.c
	@mkdir -p $(@D)
	$(call say,FUZZ,$@)
	$(Q)$(CLANG) $(CPPFLAGS) $(FUZZ_FLAGS) -MMD -MP -c -o $@ $<

NRI_USERS := $(patsubst %.c,%.o,$(wildcard user/nri/*.c tests/unit/test_nri*.c tests/unit/test_runtime*.c tests/fuzz/fuzz_nri*.c tests/guest/nri_play.c))
$(NRI_USERS:%=$(O)/%) $(NRI_USERS:%=$(O)/fuzzed/%) $(NRI_USERS:tests/fuzz/%=$(O)/tests/fuzz-objects/%): \
	| $(O)/gen/nri.pb-c.c

# --- the page for people: its style and script as text --------------------------------------------
PAGE_ASSETS := user/format/page.css user/format/page.js
$(O)/gen/page_assets.h: tools/page-assets $(PAGE_ASSETS)
	@mkdir -p $(@D)
	$(call say,PAGE,$@)
	$(Q)tools/page-assets $(PAGE_ASSETS) > $@

$(O)/user/format/page.o $(O)/fuzzed/user/format/page.o: | $(O)/gen/page_assets.h

# --- rooms --------------------------------------------------------------------------------------
define room_rule
$(O)/lib$(1).a: $(call room_objects,$(1))
	$$(call say,AR,$$@)
	$$(Q)rm -f $$@ && $(AR) rcs $$@ $$^
endef
$(foreach r,$(BUILT_ROOMS),$(eval $(call room_rule,$(r))))

# --- programs -----------------------------------------------------------------------------------
VERSION_FLAGS := -DPINFOLD_REVISION='"$(REVISION)"'
AGENT_OBJECTS := $(patsubst %.c,$(O)/%.o,user/main.c $(wildcard user/agent/*.c))
$(AGENT_OBJECTS) $(O)/tools/revision.o: EXTRA_CFLAGS += $(VERSION_FLAGS)

$(O)/pinfoldd: $(AGENT_OBJECTS) $(call archives,$(AGENT_ROOMS))
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS_ALL) $(LDFLAGS) -o $@ $(filter %.o,$^) -Wl,--start-group $(filter %.a,$^) \
		-Wl,--end-group $(call libraries,$(AGENT_ROOMS)) -lpthread -lm

# the words that a redacted bundle keeps
LEXICON_SOURCES := $(wildcard user/*/*.[ch] user/core/*/*.[ch] tools/*.[ch] include/*/*.h)
$(O)/gen/tools/lexicon.h: tools/lexicon $(LEXICON_SOURCES)
	$(call say,GEN,$@)
	@mkdir -p $(@D)
	$(Q)tools/lexicon >$@
$(O)/tools/redact.o: $(O)/gen/tools/lexicon.h
$(O)/tools/redact.o: EXTRA_CFLAGS += -I$(O)/gen/tools

$(O)/pinfold: $(patsubst %.c,$(O)/%.o,$(TOOL_SOURCES)) $(call archives,$(TOOL_ROOMS))
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS_ALL) $(LDFLAGS) -o $@ $(filter %.o,$^) -Wl,--start-group $(filter %.a,$^) \
		-Wl,--end-group $(call libraries,$(TOOL_ROOMS)) -lbpf -lelf -lz -lm

$(O)/pinfold-publisher: $(patsubst %.c,$(O)/%.o,$(wildcard tools/publisher/*.c)) $(call archives,lib)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS_ALL) $(LDFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) -lcurl -ljson-c

# --- tests: each test names the archives it links on a line "// LIBS: core lib" ------------------
test_rooms = $(shell sed -n 's,^// LIBS: ,,p' $(1))
define test_rule
$(O)/tests/$(2)/$(1): $(O)/tests/$(2)/$(1).o $$(call archives,$$(call test_rooms,tests/$(2)/$(1).c))
	$$(call say,LINK,$$@)
	$$(Q)$$(CC) $$(CFLAGS_ALL) $$(LDFLAGS) -o $$@ $$< -Wl,--start-group $$(filter %.a,$$^) \
		-Wl,--end-group $$(call libraries,$$(call test_rooms,tests/$(2)/$(1).c)) $(3) -lm
endef
$(foreach t,$(UNIT_TESTS),$(eval $(call test_rule,$(notdir $(t)),unit,-lcmocka)))
# It lets allocations fail.
$(O)/tests/unit/test_no_memory: private LDFLAGS += \
	-Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=reallocarray,--wrap=strdup,--wrap=free
$(foreach t,$(EXHAUSTIVE),$(eval $(call test_rule,$(notdir $(t)),exhaustive,)))
$(foreach t,$(BENCHES),$(eval $(call test_rule,$(notdir $(t)),bench,)))
$(foreach t,$(MONITORING),$(eval $(call test_rule,$(notdir $(t)),monitoring,-lcmocka)))
$(foreach t,$(BROWSER),$(eval $(call test_rule,$(notdir $(t)),browser,)))
$(foreach t,$(GUEST_PROGRAMS),$(eval $(call test_rule,$(notdir $(t)),guest,)))

# Tests start it hundreds of times, and loading its libraries takes an emulated guest longer than the
# rest. Not every machine has libraries to link with -static.
CAN_BE_STATIC = echo 'int main(void) { return 0; }' | $(CC) -static -o /dev/null -x c - $(LIBS_json)
$(O)/tests/guest/rows: LDFLAGS += $(if $(SAN),,$(shell { $(CAN_BE_STATIC); } >/dev/null 2>&1 && echo -static))

# The program is named like its folder, so its objects go beside.
PLAYER_ROOMS := kubelet format core lib
REPLAY_OBJECTS := $(patsubst tests/replay/%.c,$(O)/tests/player/%.o,$(wildcard tests/replay/*.c))
$(O)/tests/player/%.o: tests/replay/%.c
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS_ALL) -MMD -MP -c -o $@ $<

$(O)/tests/replay: $(REPLAY_OBJECTS) $(call archives,$(PLAYER_ROOMS))
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS_ALL) $(LDFLAGS) -o $@ $(filter %.o,$^) -Wl,--start-group $(filter %.a,$^) \
		-Wl,--end-group $(call libraries,$(PLAYER_ROOMS)) -lz -lm

# The property run stands among the unit tests; it simulates as the inspector does.
PROPERTY := $(O)/tests/unit/test_property
PROPERTY_ROOMS := machine kubelet format core lib
PROPERTY_OBJECTS := $(patsubst %.c,$(O)/%.o,$(wildcard tests/property/*.c))
PROPERTY_ARCHIVES := $(O)/tests/inspector.a $(call archives,$(PROPERTY_ROOMS))
# $(1) program, $(2) objects that stand in for members of the archives
property_link = $(CC) $(CFLAGS_ALL) $(LDFLAGS) -o $(1) $(PROPERTY_OBJECTS) $(2) \
		-Wl,--start-group $(PROPERTY_ARCHIVES) -Wl,--end-group \
		$(call libraries,$(PROPERTY_ROOMS)) -lbpf -lelf -lz -lm

$(O)/tests/inspector.a: $(patsubst %.c,$(O)/%.o,$(filter-out tools/main.c,$(TOOL_SOURCES)))
	@mkdir -p $(@D)
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(PROPERTY): $(PROPERTY_OBJECTS) $(PROPERTY_ARCHIVES)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(call property_link,$@,)

# The inspector on a machine that stands still, which is what tests/check/golden records.
STILL_INSPECTOR := $(O)/tests/still/pinfold
STILL_FUNCTIONS := $(shell sed -n 's/^[A-Za-z].*__wrap_\([a-z0-9_]*\).*/\1/p' tests/lib/still_machine.c | sort -u)
$(STILL_INSPECTOR): $(O)/tools/main.o $(O)/tests/lib/still_machine.o $(O)/tests/inspector.a $(call archives,$(TOOL_ROOMS))
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS_ALL) $(LDFLAGS) $(STILL_FUNCTIONS:%=-Wl,--wrap=%) -o $@ $(filter %.o,$^) -Wl,--start-group \
		$(filter %.a,$^) -Wl,--end-group $(call libraries,$(TOOL_ROOMS)) -lbpf -lelf -lz -lm

# Fuzz targets: clang, libFuzzer, both sanitizers; rooms compiled once more with coverage.
FUZZ_FLAGS := -std=gnu17 -O1 -g -fsanitize=fuzzer-no-link,address,undefined \
	      -fno-sanitize-recover=all -fprofile-instr-generate -fcoverage-mapping
$(O)/fuzzed/%.o: %.c
	@mkdir -p $(@D)
	$(call say,FUZZ,$@)
	$(Q)$(CLANG) $(CPPFLAGS) $(FUZZ_FLAGS) -MMD -MP -c -o $@ $<

define fuzzed_room_rule
$(O)/fuzzed/lib$(1).a: $(patsubst $(O)/%,$(O)/fuzzed/%,$(call room_objects,$(1)))
	$$(call say,AR,$$@)
	$$(Q)rm -f $$@ && $(AR) rcs $$@ $$^
endef
$(foreach r,$(BUILT_ROOMS),$(eval $(call fuzzed_room_rule,$(r))))

fuzzed_archives = $(patsubst $(O)/%,$(O)/fuzzed/%,$(call archives,$(1)))
define fuzz_rule
$(O)/tests/fuzz/$(1): $(O)/fuzzed/tests/fuzz/$(1).o \
		$$(call fuzzed_archives,$$(call test_rooms,tests/fuzz/$(1).c))
	@mkdir -p $$(@D)
	$$(call say,LINK,$$@)
	$$(Q)$$(CLANG) $$(FUZZ_FLAGS) -fsanitize=fuzzer -o $$@ $$< -Wl,--start-group \
		$$(filter %.a,$$^) -Wl,--end-group \
		$$(call libraries,$$(call test_rooms,tests/fuzz/$(1).c)) -lm
endef
$(foreach t,$(FUZZERS),$(eval $(call fuzz_rule,$(notdir $(t)))))

# The same targets with a plain driver: replays the corpus, needs neither clang nor libFuzzer.
CORPUS_PLAYERS := $(patsubst tests/fuzz/%.c,$(O)/tests/corpus/%,$(wildcard tests/fuzz/fuzz_*.c))
define corpus_rule
$(O)/tests/corpus/$(1): $(O)/tests/fuzz-objects/$(1).o $(O)/tests/fuzz-objects/driver.o \
		$$(call archives,$$(call test_rooms,tests/fuzz/$(1).c))
	@mkdir -p $$(@D)
	$$(call say,LINK,$$@)
	$$(Q)$$(CC) $$(CFLAGS_ALL) $$(LDFLAGS) -o $$@ $$(filter %.o,$$^) -Wl,--start-group \
		$$(filter %.a,$$^) -Wl,--end-group \
		$$(call libraries,$$(call test_rooms,tests/fuzz/$(1).c)) -lm
endef
$(foreach t,$(CORPUS_PLAYERS),$(eval $(call corpus_rule,$(notdir $(t)))))
$(O)/tests/fuzz-objects/%.o: tests/fuzz/%.c
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS_ALL) -MMD -MP -c -o $@ $<

corpus: $(CORPUS_PLAYERS) ## build the players of the fuzz corpus

unit: $(UNIT_TESTS) $(EXHAUSTIVE) $(PROPERTY) $(MONITORING) $(BROWSER) $(STILL_INSPECTOR) ## build the unit, exhaustive and property tests

check: all unit corpus $(O)/tests/guest/rows ## run the tests that need no root and no guest, less than three minutes
	$(Q)O=$(O) SAN=$(SAN) tests/run check

# the tests first: the inspector is run on the objects that they record
GOLDEN := $(patsubst tests/unit/%.c,$(O)/tests/unit/%,$(shell grep -lE 'golden\.h|view_scene\.h' tests/unit/test_*.c))
golden: all $(GOLDEN) $(STILL_INSPECTOR) ## write the golden files anew after an intended change; read the diff
	$(Q)for test in $(GOLDEN); do UPDATE_GOLDEN=1 $$test || exit 1; done
	$(Q)UPDATE_GOLDEN=1 O=$(O) tests/check/golden

property: $(PROPERTY) ## run a million random events; PINFOLD_STEPS, PINFOLD_SEED
	$(Q)PINFOLD_STEPS=$${PINFOLD_STEPS:-1000000} $(PROPERTY)

ifeq ($(MECHANICAL),1)
# Its own folder, where an object with faults in it harms nobody. With the sanitizers: a
# loop that goes one too far is seen by nobody else.
MUTATION_BUILD := O=$(O)/mutation SAN=1 CFLAGS='-O1 -g'
mutants:
	$(Q)$(MAKE) --no-print-directory $(JOBS) $(MUTATION_BUILD) mutation
mutation:
	$(Q)O=$(O) COMPILE='$(CC) $(CPPFLAGS) $(CFLAGS_ALL)' tests/mutation/run $(if $(SAMPLE),--sample $(SAMPLE)) \
		$(if $(SEED),--seed $(SEED)) $(if $(AGAIN),--again $(AGAIN)) \
		$(patsubst -j%,--jobs %,$(filter-out -j,$(filter -j%,$(MAKEFLAGS)))) $(or $(FILE),$(ROOM),core ctl cgroup)
else
mutants: $(PROPERTY) ## plant faults that the tests must detect; MUTANT=name for one, or MECHANICAL=1 [ROOM=ctl | FILE=user/ctl/x.c] [SAMPLE=10]
	$(Q)O=$(O) COMPILE='$(CC) $(CPPFLAGS) $(CFLAGS_ALL)' LINK='$(call property_link,PROGRAM,OBJECT)' \
		tests/property/catch-mutants $(MUTANT)
endif

# -O0: a line of the source is a line of the count
coverage: ## count the lines that tests without a guest execute, per room; ROOM=name lists the others
	$(Q)$(MAKE) --no-print-directory $(JOBS) O=$(O)/coverage CFLAGS='-O0 -g --coverage' all unit
	$(Q)O=$(O)/coverage tests/coverage $(ROOM)

prove: ## prove the harnesses with CBMC, minutes; FAULTS=1 plants faults that it must find
	$(Q)tests/prove/run $(if $(FAULTS),--faults) $(HARNESS)

# a build within a command takes all cores, unless the caller has said how many
JOBS = $(if $(findstring -j,$(MAKEFLAGS)),,-j$(shell nproc))

test: ## run set-up, build, unit tests, vectors, checks, and each guest test on the kernels it needs (needs root)
	$(Q)tools/install-deps test
	$(Q)PINFOLD_ARCH=$(OTHER) tools/guest/sysroot || echo "make: no libraries of $(OTHER), so check/cross is skipped"
	$(Q)$(MAKE) --no-print-directory $(JOBS) O=$(O) all unit corpus guest-programs
	$(Q)O=$(O) tests/run all $(TEST_ALL)

test-kernels: private export TEST_ALL := --every-kernel
test-kernels: ## run the same, with each guest test on every kernel that it can run on; takes about twice as long
	$(Q)$(MAKE) --no-print-directory O=$(O) test

guest-programs: $(GUEST_PROGRAMS)

test-guest: all guest-programs ## run the guest tests; select with KERNEL=oldest|stable|newest, TEST=name, ARCH=arm64
	$(Q)O=$(O) PINFOLD_ARCH=$(ARCH) tests/run guest $(if $(KERNEL),--kernel $(KERNEL)) $(if $(TEST),--test $(TEST))

attacks: all guest-programs ## try the attack table in a guest of each kernel; select with KERNEL=oldest|stable|newest
	$(Q)O=$(O) tests/attacks/run $(KERNEL)

soak: all guest-programs ## attack at random while pods come and go, T seconds long; KERNEL=stable, SEED=number
	$(Q)O=$(O) PINFOLD_SECONDS=$(or $(T),120) PINFOLD_SEED=$(SEED) tests/run guest --kernel $(or $(KERNEL),stable) --test soak

race: all guest-programs ## 2,000 writes while programs of the guard are preempted, on each kernel; KERNEL=stable, TRIES=number
	$(Q)for test in race race-fmod-ret; do \
		O=$(O) PINFOLD_SECONDS=3600 PINFOLD_TRIES=$(or $(TRIES),2000) \
			tests/run guest $(if $(KERNEL),--kernel $(KERNEL)) --test $$test || exit 1; \
	done

bench: all $(BENCHES) ## run the benchmarks and compare them with tests/bench/limits; JSON lines in $(O)/bench/
	$(Q)O=$(O) tests/bench/run

bench-core: all $(BENCHES) ## run the benchmarks of the decisions only
	$(Q)O=$(O) tests/bench/run core

bench-guest: all $(O)/tests/bench/bench_hooks ## what the guard costs others, in guests that count instructions; KERNEL=oldest|stable|newest
	$(Q)O=$(O) tests/bench/hooks $(KERNEL)

fuzz: $(FUZZERS) ## fuzz every parser: T seconds each, J at a time
	$(Q)O=$(O) tests/fuzz/run $(T) $(J)

demo: ## run the demo in a guest machine: set-up, build, boot, show (needs root)
	$(Q)tools/install-deps demo
	$(Q)$(MAKE) --no-print-directory O=$(O) all $(O)/tests/guest/spin
	$(Q)O=$(O) tools/demo

fresh: ## test README's two commands on a minimal Debian root (needs root)
	$(Q)tests/fresh

PREFIX ?= /usr/local
install: all ## install below DESTDIR and PREFIX
	install -D -m 755 $(O)/pinfoldd $(DESTDIR)$(PREFIX)/sbin/pinfoldd
	install -D -m 755 $(O)/pinfold $(DESTDIR)$(PREFIX)/sbin/pinfold
	$(if $(PUBLISHER),install -D -m 755 $(PUBLISHER) $(DESTDIR)$(PREFIX)/bin/pinfold-publisher)
	for page in docs/man/*.8; do \
		install -D -m 644 $$page $(DESTDIR)$(PREFIX)/share/man/man8/$${page##*/}; done
	install -D -m 644 docs/completion/pinfold \
		$(DESTDIR)$(PREFIX)/share/bash-completion/completions/pinfold
	install -D -m 644 docs/examples/config.yaml $(DESTDIR)/etc/pinfold/config.yaml.example
	install -d $(DESTDIR)$(PREFIX)/lib/systemd/system
	sed 's,^ExecStart=/usr/local/,ExecStart=$(PREFIX)/,' docs/examples/pinfoldd.service \
		>$(DESTDIR)$(PREFIX)/lib/systemd/system/pinfoldd.service
	chmod 644 $(DESTDIR)$(PREFIX)/lib/systemd/system/pinfoldd.service

FORMATTED = $(shell git ls-files 'user/*.[ch]' 'tools/*.[ch]' 'bpf/*.[ch]' 'include/*.h' 'tests/*.[ch]')
format: ## apply .clang-format
	$(Q)clang-format -i $(FORMATTED)

format-check: ## fail if a file is not formatted
	$(Q)clang-format --dry-run -Werror $(FORMATTED)

clean: ## remove the output folder
	rm -rf $(O)

# the cache below it has whole systems, with files of that name for other purposes
-include $(shell find $(O) -name cache -prune -o -name '*.d' -type f -print 2>/dev/null)
