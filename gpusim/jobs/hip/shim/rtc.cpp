// Compilation while the program runs (hiprtc, and what comgr.cpp asks): the simulator has the system's clang do it.
#include <cstdlib>
#include <map>
#include <vector>

#include "connection.h"

namespace {
enum Result { OK, OUT_OF_MEMORY, CREATION, INVALID_INPUT, INVALID_PROGRAM, INVALID_OPTION, COMPILATION, BUILTIN,
              NO_EXPRESSIONS, NO_LOWERED_NAMES, INVALID_EXPRESSION, INTERNAL };

struct Program {
  std::string source, name, log, code;
  std::vector<std::pair<std::string, std::string>> headers;
  std::vector<std::string> expressions;
  std::map<std::string, std::string> lowered;
  bool compiled = false;
};
}  // namespace

API int hiprtcCreateProgram(Program** program, const char* source, const char* name, int count, const char** headers,
                            const char** names) {
  if (!program || !source || count < 0) return INVALID_INPUT;
  *program = new Program;
  (*program)->source = source;
  (*program)->name = name ? name : "program.hip";
  for (int i = 0; i < count; i++) (*program)->headers.push_back({names[i], headers[i]});
  return OK;
}
API int hiprtcDestroyProgram(Program** program) {
  if (!program) return INVALID_INPUT;
  delete *program;
  *program = nullptr;
  return OK;
}
API int hiprtcAddNameExpression(Program* program, const char* expression) {
  if (!program || !expression) return INVALID_INPUT;
  if (program->compiled) return NO_EXPRESSIONS;
  program->expressions.push_back(expression);
  return OK;
}
API int hiprtcCompileProgram(Program* program, int count, const char** options) {
  if (!program) return INVALID_PROGRAM;
  if (!connected()) return INTERNAL;
  settle();  // a kernel's error is its own, and stays
  Request request(OP_COMPILE);
  request.put<uint32_t>(SOURCE_HIP).put<uint32_t>(program->expressions.size()).text(program->source).text(program->name);
  for (const auto& expression : program->expressions) request.text(expression);
  request.put<uint32_t>(program->headers.size());
  for (const auto& header : program->headers) request.text(header.first).text(header.second);
  request.put<uint32_t>(count);
  for (int i = 0; i < count; i++) request.text(options[i]);
  Answer answer = ask(request);
  program->compiled = true;
  for (const auto& expression : program->expressions) program->lowered[expression] = answer.text();
  program->log = answer.text();
  program->code = answer.text();
  return answer.status ? COMPILATION : OK;
}
API int hiprtcGetLoweredName(Program* program, const char* expression, const char** name) {
  if (!program || !expression || !name) return INVALID_INPUT;
  if (!program->compiled) return NO_LOWERED_NAMES;
  auto found = program->lowered.find(expression);
  if (found == program->lowered.end() || found->second.empty()) return INVALID_EXPRESSION;
  *name = found->second.c_str();
  return OK;
}
static int give_size(Program* program, const std::string& text, size_t extra, size_t* size) {
  if (!program || !size) return INVALID_INPUT;
  *size = text.size() + extra;
  return OK;
}
API int hiprtcGetCodeSize(Program* p, size_t* size) { return p ? give_size(p, p->code, 0, size) : INVALID_PROGRAM; }
API int hiprtcGetProgramLogSize(Program* p, size_t* size) { return p ? give_size(p, p->log, 1, size) : INVALID_PROGRAM; }
API int hiprtcGetCode(Program* p, char* to) {
  if (!p || !to) return INVALID_INPUT;
  memcpy(to, p->code.data(), p->code.size());
  return OK;
}
API int hiprtcGetProgramLog(Program* p, char* to) {
  if (!p || !to) return INVALID_INPUT;
  memcpy(to, p->log.c_str(), p->log.size() + 1);
  return OK;
}
API int hiprtcVersion(int* major, int* minor) {
  if (!major || !minor) return INVALID_INPUT;
  *major = 9, *minor = 0;  // of hiprtc's own numbers, since ROCm 5
  return OK;
}
API const char* hiprtcGetErrorString(int result) {
  static const char* const texts[] = {
      "HIPRTC_SUCCESS", "HIPRTC_ERROR_OUT_OF_MEMORY", "HIPRTC_ERROR_PROGRAM_CREATION_FAILURE", "HIPRTC_ERROR_INVALID_INPUT",
      "HIPRTC_ERROR_INVALID_PROGRAM", "HIPRTC_ERROR_INVALID_OPTION", "HIPRTC_ERROR_COMPILATION",
      "HIPRTC_ERROR_BUILTIN_OPERATION_FAILURE", "HIPRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION",
      "HIPRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION", "HIPRTC_ERROR_NAME_EXPRESSION_NOT_VALID",
      "HIPRTC_ERROR_INTERNAL_ERROR"};
  return result >= 0 && result <= INTERNAL ? texts[result] : "unknown hiprtc result";
}

// The simulated GPU's architecture, for libamd_comgr; empty without a simulator.
API const char* gpusim_architecture() { return connected() ? device().architecture.c_str() : ""; }

// A request of libamd_comgr, a library of its own, as it goes over the line; the answer is to be freed. False: it failed,
// and why is in the answer, which is null without a simulator.
API bool gpusim_translate(const char* body, size_t size, char** answer, size_t* answer_size) {
  *answer = nullptr, *answer_size = 0;
  if (!connected()) return false;
  settle();
  Answer done = ask(Request(OP_TRANSLATE).bytes(body, size));
  *answer_size = done.body.size();
  *answer = static_cast<char*>(malloc(done.body.size() + 1));
  if (*answer) memcpy(*answer, done.body.data(), done.body.size());
  return done.status == hipSuccess;
}
