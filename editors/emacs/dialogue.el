;;; dialogue.el --- what a person does in Emacs with a C program, for editors_test.go  -*- lexical-binding: t -*-

;; SOURCE and PROGRAM name the files; each line that is printed begins with "said: ".

(require 'cl-lib)
(load (expand-file-name "strobe-dap-mode.el" (file-name-directory load-file-name)))
(setq lsp-auto-guess-root t)

(defvar dialogue-shown 0 "How often a frame was shown.")
(defvar dialogue-ended nil)
(add-hook 'dap-stack-frame-changed-hook (lambda (_) (cl-incf dialogue-shown)))
(add-hook 'dap-terminated-hook (lambda (_) (setq dialogue-ended t)))

(defun dialogue-await (what f)
  "Wait until F returns what is not nil, a minute at most, and return that; WHAT is its name."
  (let ((n 0))
    (while (and (not (funcall f)) (< (cl-incf n) 600)) (accept-process-output nil 0.1))
    (or (funcall f) (progn (message "said: no %s" what) (kill-emacs 1)))))

(defun dialogue-shown (n)
  "Wait for the frame that is shown as the Nth."
  (dialogue-await "frame" (lambda () (>= dialogue-shown n)))
  (let ((frame (dap--debug-session-active-frame (dap--cur-session))))
    (message "said: %s %s" (gethash "name" frame) (gethash "line" frame))
    frame))

(defun dialogue-ask (command args key)
  "Send a request COMMAND with ARGS, and return KEY of its answer."
  (let (answer)
    (dap--send-message (dap--make-request command args) (lambda (r) (setq answer r)) (dap--cur-session))
    (gethash key (gethash "body" (dialogue-await command (lambda () answer))))))

(find-file (getenv "SOURCE"))
(goto-char (point-min))
(search-forward "return line;")
(dap-breakpoint-add)
(dap-debug (list :type "strobe" :name "shop" :program (getenv "PROGRAM")))
(let* ((frame (dialogue-shown 1)) (id (gethash "id" frame)))
  (message "said: line = %s"
           (dialogue-ask "evaluate" (list :expression "line" :frameId id :context "watch") "result"))
  (let ((locals (seq-find (lambda (s) (equal (gethash "name" s) "Locals"))
                          (dialogue-ask "scopes" (list :frameId id) "scopes"))))
    (message "said: now %s" (dialogue-ask "setVariable" (list :variablesReference (gethash "variablesReference" locals)
                                                              :name "line" :value "1000") "value"))))
(dap-next (dap--cur-session))
(dialogue-shown 2)
(dap-breakpoint-delete-all)
(dap-continue (dap--cur-session) (dap--debug-session-thread-id (dap--cur-session)))
(dialogue-await "end" (lambda () dialogue-ended))
(message "said: ended")
;;; dialogue.el ends here
