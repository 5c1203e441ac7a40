// AMD's code object manager (libamd_comgr.so.2): data objects, sets of them, and actions, which the simulator has the
// system's clang do. A library of its own: a program may open it beside either release's runtime library, which has the
// line to the simulator. Interface as of comgr 2.6 (amd_comgr.h); handles are numbers, so that a wrong one is told.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "generated.h"

#define API extern "C" __attribute__((visibility("default")))

namespace {
enum Status { OK, ERROR, INVALID, NO_RESOURCES };
enum Kind { UNDEFINED, SOURCE, INCLUDE, LOG = 5, FIRST_UNKNOWN = 21 };
constexpr char TRIPLE[] = "amdgcn-amd-amdhsa--";
constexpr int LANGUAGES = 6, LAST_ACTION = 0x12;

struct Handle {
  uint64_t number;
};

struct Data {
  int kind;
  int held = 1;  // by the program, and by each set that it is in
  std::string name, contents;
};

struct Info {
  std::string isa, folder, joined;
  std::vector<std::string> options;
  bool listed = false;  // options were given as a list
  int language = 0;
  bool logging = false;
};

std::recursive_mutex mutex;
uint64_t last = 0;
std::map<uint64_t, Data> all_data;
std::map<uint64_t, std::vector<uint64_t>> sets;
std::map<uint64_t, Info> infos;

#define LOCKED() std::lock_guard<std::recursive_mutex> locked(mutex)

template <typename T>
T* find(std::map<uint64_t, T>& all, Handle handle) {
  auto found = all.find(handle.number);
  return found == all.end() ? nullptr : &found->second;
}

void release(uint64_t number) {
  auto found = all_data.find(number);
  if (found != all_data.end() && !--found->second.held) all_data.erase(found);
}

uint64_t add(int kind, const std::string& name, const std::string& contents) {
  Data& made = all_data[++last];
  made.kind = kind, made.name = name, made.contents = contents;
  return last;
}

void complain(const char* text, const char* more) { fprintf(stderr, "gpusim: %s%s\n", text, more); }

// As comgr gives texts: the size with its end where no place is given, else as many bytes as there is place for.
int give_text(const std::string& text, size_t* size, char* to) {
  if (!size) return INVALID;
  if (to) memcpy(to, text.c_str(), *size < text.size() + 1 ? *size : text.size() + 1);
  else *size = text.size() + 1;
  return OK;
}

void put(std::string& to, uint32_t value) { to.append(reinterpret_cast<const char*>(&value), sizeof value); }
void put(std::string& to, const std::string& text) {
  put(to, uint32_t(text.size()));
  to.append(text);
}

struct Reader {
  const char* at;
  const char* end;

  uint32_t number() {
    uint32_t value = 0;
    if (end - at >= 4) memcpy(&value, at, 4), at += 4;
    return value;
  }
  std::string text() {
    size_t size = number();
    if (size > size_t(end - at)) size = end - at;
    at += size;
    return std::string(at - size, size);
  }
};

using Translate = bool (*)(const char*, size_t, char**, size_t*);
using Architecture = const char* (*)();

// A function of the runtime library that the program uses, or of that of the newest release.
void* of_runtime(const char* function) {
  void* found = nullptr;
  for (auto [name, flags] : {std::pair{"libamdhip64.so.6", RTLD_NOLOAD}, {"libamdhip64.so.5", RTLD_NOLOAD},
                             {"libamdhip64.so.6", 0}}) {
    if (found) break;
    if (void* library = dlopen(name, RTLD_NOW | flags)) found = dlsym(library, function);
  }
  if (!found) complain("libamd_comgr.so.2 finds no libamdhip64 of gpusim: ", "run this program by 'gpusim hip -- PROGRAM'");
  return found;
}

Translate translate() {
  static Translate found = Translate(of_runtime("gpusim_translate"));
  return found;
}

// The simulated GPU as comgr names it; empty without a simulator.
const std::string& isa() {
  static std::string found;
  if (found.empty()) {
    auto architecture = Architecture(of_runtime("gpusim_architecture"));
    const char* name = architecture ? architecture() : "";
    if (*name) found = std::string(TRIPLE) + name;
  }
  return found;
}
}  // namespace

int gpusim_unsupported(const char* name) {
  static std::set<std::string> said;
  LOCKED();
  if (said.insert(name).second) complain(name, " is not supported");
  return ERROR;
}

API int amd_comgr_status_string(int status, const char** text) {
  static const char* const texts[] = {"SUCCESS", "ERROR", "INVALID_ARGUMENT", "OUT_OF_RESOURCES"};
  if (!text || status < OK || status > NO_RESOURCES) return INVALID;
  *text = texts[status];
  return OK;
}
API void amd_comgr_get_version(size_t* major, size_t* minor) { *major = 2, *minor = 6; }
API int amd_comgr_get_isa_count(size_t* count) {
  if (!count) return INVALID;
  LOCKED();
  *count = !isa().empty();
  return OK;
}
API int amd_comgr_get_isa_name(size_t index, const char** name) {
  LOCKED();
  if (!name || index || isa().empty()) return INVALID;
  *name = isa().c_str();
  return OK;
}

// --- data objects
API int amd_comgr_create_data(int kind, Handle* data) {
  LOCKED();
  if (!data || kind <= UNDEFINED || kind >= FIRST_UNKNOWN) return INVALID;
  data->number = add(kind, "", "");
  return OK;
}
API int amd_comgr_release_data(Handle data) {
  LOCKED();
  if (!find(all_data, data)) return INVALID;
  release(data.number);
  return OK;
}
API int amd_comgr_get_data_kind(Handle data, int* kind) {
  LOCKED();
  Data* d = find(all_data, data);
  if (!d || !kind) return INVALID;
  *kind = d->kind;
  return OK;
}
API int amd_comgr_set_data(Handle data, size_t size, const char* bytes) {
  LOCKED();
  Data* d = find(all_data, data);
  if (!d || !size || !bytes) return INVALID;
  d->contents.assign(bytes, size);
  return OK;
}
API int amd_comgr_set_data_from_file_slice(Handle data, int file, uint64_t offset, uint64_t size) {
  LOCKED();
  Data* d = find(all_data, data);
  if (!d || !size) return INVALID;
  std::string read(size, 0);
  for (size_t at = 0; at < size;) {
    ssize_t n = pread(file, &read[at], size - at, offset + at);
    if (n <= 0) return ERROR;
    at += n;
  }
  d->contents = read;
  return OK;
}
API int amd_comgr_set_data_name(Handle data, const char* name) {
  LOCKED();
  Data* d = find(all_data, data);
  if (!d) return INVALID;
  d->name = name ? name : "";
  return OK;
}
API int amd_comgr_get_data(Handle data, size_t* size, char* bytes) {
  LOCKED();
  Data* d = find(all_data, data);
  if (!d || !size) return INVALID;
  if (bytes) memcpy(bytes, d->contents.data(), *size < d->contents.size() ? *size : d->contents.size());
  else *size = d->contents.size();
  return OK;
}
API int amd_comgr_get_data_name(Handle data, size_t* size, char* name) {
  LOCKED();
  Data* d = find(all_data, data);
  return d ? give_text(d->name, size, name) : INVALID;
}

// --- sets
API int amd_comgr_create_data_set(Handle* set) {
  LOCKED();
  if (!set) return INVALID;
  sets[set->number = ++last];
  return OK;
}
API int amd_comgr_data_set_remove(Handle set, int kind) {
  LOCKED();
  auto s = find(sets, set);
  if (!s || kind <= UNDEFINED || kind >= FIRST_UNKNOWN) return INVALID;
  std::vector<uint64_t> kept;
  for (uint64_t number : *s) {
    if (all_data[number].kind == kind) release(number);
    else kept.push_back(number);
  }
  s->swap(kept);
  return OK;
}
API int amd_comgr_destroy_data_set(Handle set) {
  LOCKED();
  auto s = find(sets, set);
  if (!s) return INVALID;
  for (uint64_t number : *s) release(number);
  sets.erase(set.number);
  return OK;
}
API int amd_comgr_data_set_add(Handle set, Handle data) {
  LOCKED();
  auto s = find(sets, set);
  Data* d = find(all_data, data);
  if (!s || !d || (d->kind == INCLUDE && d->name.empty())) return INVALID;
  for (uint64_t number : *s)
    if (number == data.number) return OK;
  s->push_back(data.number), d->held++;
  return OK;
}
API int amd_comgr_action_data_count(Handle set, int kind, size_t* count) {
  LOCKED();
  auto s = find(sets, set);
  if (!s || !count || kind <= UNDEFINED || kind >= FIRST_UNKNOWN) return INVALID;
  *count = 0;
  for (uint64_t number : *s) *count += all_data[number].kind == kind;
  return OK;
}
API int amd_comgr_action_data_get_data(Handle set, int kind, size_t index, Handle* data) {
  LOCKED();
  auto s = find(sets, set);
  if (!s || !data || kind <= UNDEFINED || kind >= FIRST_UNKNOWN) return INVALID;
  for (uint64_t number : *s)
    if (all_data[number].kind == kind && !index--) {
      all_data[number].held++;
      data->number = number;
      return OK;
    }
  return INVALID;
}

// --- what an action is told
API int amd_comgr_create_action_info(Handle* info) {
  LOCKED();
  if (!info) return INVALID;
  infos[info->number = ++last];
  return OK;
}
API int amd_comgr_destroy_action_info(Handle info) {
  LOCKED();
  return infos.erase(info.number) ? OK : INVALID;
}
API int amd_comgr_action_info_set_isa_name(Handle info, const char* name) {
  LOCKED();
  Info* i = find(infos, info);
  if (!i) return INVALID;
  if (name && *name && std::string(name, strcspn(name, ":")) != isa()) {  // behind a colon: sramecc, xnack
    fprintf(stderr, "gpusim: comgr: no code can be made for %s; there is %s alone\n", name, isa().c_str());
    return INVALID;
  }
  i->isa = name ? name : "";
  return OK;
}
API int amd_comgr_action_info_get_isa_name(Handle info, size_t* size, char* name) {
  LOCKED();
  Info* i = find(infos, info);
  return i ? give_text(i->isa, size, name) : INVALID;
}
API int amd_comgr_action_info_set_language(Handle info, int language) {
  LOCKED();
  Info* i = find(infos, info);
  if (!i || language < 0 || language >= LANGUAGES) return INVALID;
  i->language = language;
  return OK;
}
API int amd_comgr_action_info_get_language(Handle info, int* language) {
  LOCKED();
  Info* i = find(infos, info);
  if (!i || !language) return INVALID;
  *language = i->language;
  return OK;
}
API int amd_comgr_action_info_set_options(Handle info, const char* options) {
  LOCKED();
  Info* i = find(infos, info);
  if (!i) return INVALID;
  i->joined = options ? options : "", i->listed = false, i->options.clear();
  for (size_t at = 0; at < i->joined.size();) {
    size_t end = i->joined.find(' ', at);
    if (end == std::string::npos) end = i->joined.size();
    if (end > at) i->options.push_back(i->joined.substr(at, end - at));
    at = end + 1;
  }
  return OK;
}
API int amd_comgr_action_info_get_options(Handle info, size_t* size, char* options) {
  LOCKED();
  Info* i = find(infos, info);
  return !i ? INVALID : i->listed ? ERROR : give_text(i->joined, size, options);
}
API int amd_comgr_action_info_set_option_list(Handle info, const char* options[], size_t count) {
  LOCKED();
  Info* i = find(infos, info);
  if (!i || (!options && count)) return INVALID;
  i->listed = true, i->options.assign(options, options + count);
  return OK;
}
API int amd_comgr_action_info_get_option_list_count(Handle info, size_t* count) {
  LOCKED();
  Info* i = find(infos, info);
  if (!i || !count) return INVALID;
  if (!i->listed) return ERROR;
  *count = i->options.size();
  return OK;
}
API int amd_comgr_action_info_get_option_list_item(Handle info, size_t index, size_t* size, char* option) {
  LOCKED();
  Info* i = find(infos, info);
  if (!i) return INVALID;
  if (!i->listed) return ERROR;
  return index < i->options.size() ? give_text(i->options[index], size, option) : INVALID;
}
API int amd_comgr_action_info_set_working_directory_path(Handle info, const char* path) {
  LOCKED();
  Info* i = find(infos, info);
  if (!i) return INVALID;
  i->folder = path ? path : "";
  return OK;
}
API int amd_comgr_action_info_get_working_directory_path(Handle info, size_t* size, char* path) {
  LOCKED();
  Info* i = find(infos, info);
  return i ? give_text(i->folder, size, path) : INVALID;
}
API int amd_comgr_action_info_set_logging(Handle info, bool logging) {
  LOCKED();
  Info* i = find(infos, info);
  if (!i) return INVALID;
  i->logging = logging;
  return OK;
}
API int amd_comgr_action_info_get_logging(Handle info, bool* logging) {
  LOCKED();
  Info* i = find(infos, info);
  if (!i || !logging) return INVALID;
  *logging = i->logging;
  return OK;
}

API int amd_comgr_do_action(int kind, Handle info, Handle input, Handle result) {
  LOCKED();
  Info* i = find(infos, info);
  auto in = find(sets, input), out = find(sets, result);
  if (!i || !in || !out || kind < 0 || kind > LAST_ACTION) return INVALID;
  if (i->isa.empty()) return ERROR;  // as AMD's does, whose header says INVALID
  Translate ask = translate();
  if (!ask) return ERROR;
  std::string body;
  put(body, uint32_t(kind)), put(body, uint32_t(i->language)), put(body, i->isa), put(body, i->folder);
  put(body, uint32_t(i->options.size()));
  for (const auto& option : i->options) put(body, option);
  put(body, uint32_t(in->size()));
  for (uint64_t number : *in) {
    const Data& data = all_data[number];
    put(body, uint32_t(data.kind)), put(body, data.name), put(body, data.contents);
  }
  char* answer;
  size_t size;
  bool done = ask(body.data(), body.size(), &answer, &size);
  if (!answer) return ERROR;
  Reader reader{answer, answer + size};
  std::string log = reader.text();
  for (uint32_t n = reader.number(); n; n--) {
    int of_kind = reader.number();
    std::string name = reader.text();
    out->push_back(add(of_kind, name, reader.text()));
  }
  free(answer);
  if (i->logging) out->push_back(add(LOG, "comgr.log", log.empty() ? "\n" : log));
  else if (!done) fprintf(stderr, "%s", log.c_str());
  return done ? OK : ERROR;
}
